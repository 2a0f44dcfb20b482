/* SPDX-License-Identifier: MIT */
/* The operations through which the chosen kernels of `copy` are called. */
#ifndef CARRY_COPY_CHOICE_H
#define CARRY_COPY_CHOICE_H

#include "copy/copy_internal.h"
#include "kernel/choice.h"

CARRY_OP(void, carry_copy, void *, const void *, size_t);
CARRY_OP(void, carry_copy_move, void *, const void *, size_t);
CARRY_OP(size_t, carry_copy_try, void *, const void *, size_t);

#endif
