/* SPDX-License-Identifier: MIT */
/* Scalar code: add with carry. Equation, registers and clobbers: scalar.h. */
#define KERNEL adc
#define BMI2   0
#include "sum/x86_64/scalar.h"

CARRY_FUNCTION FUNCTION
    TAKE_ARGUMENTS
    EXTEND_SUM
.Lscalar:
    SUM_SCALAR
    CARRY_RECOVER 8
CARRY_END FUNCTION

CARRY_NOTES
