/* SPDX-License-Identifier: MIT */
#include "hosted/generic/pages.c"
