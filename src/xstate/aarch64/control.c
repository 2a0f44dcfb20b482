/* SPDX-License-Identifier: MIT */
#include "xstate/generic/control.c"
