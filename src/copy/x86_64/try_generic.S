/* SPDX-License-Identifier: MIT */
/* carry_copy_try_generic: C cannot survive faults, so this is what every CPU has. */
#define NAME generic
#include "copy/x86_64/try_words.h"
