/* SPDX-License-Identifier: MIT */
#include "hosted/generic/levels.c"
