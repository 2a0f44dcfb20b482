/* SPDX-License-Identifier: MIT */
#include "xstate/generic/thunk.c"
