/* SPDX-License-Identifier: MIT */
/* Scalar code: add with carry. Equation, registers and clobbers: scalar.h. */
#define KERNEL adc
#include "sum/x86_64/scalar.h"

CARRY_FUNCTION FUNCTION
    TAKE_ARGUMENTS
    SUM_SCALAR
    CARRY_RECOVER
CARRY_END FUNCTION

CARRY_NOTES
