/* SPDX-License-Identifier: MIT */
#include "hosted/x86_64/mark.c"
