/* SPDX-License-Identifier: MIT */
#include "hook/generic/stub.c"
