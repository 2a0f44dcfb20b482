/* SPDX-License-Identifier: MIT */
#include "xstate/generic/state.c"
