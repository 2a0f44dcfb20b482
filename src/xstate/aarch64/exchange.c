/* SPDX-License-Identifier: MIT */
#include "xstate/generic/exchange.c"
