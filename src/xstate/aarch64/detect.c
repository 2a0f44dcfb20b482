/* SPDX-License-Identifier: MIT */
#include "xstate/generic/detect.c"
