/* SPDX-License-Identifier: MIT */
/* carry_copy_try_generic: for every CPU. It is in assembly because C cannot survive faults. */
#define NAME generic
#include "copy/x86_64/try_words.h"
