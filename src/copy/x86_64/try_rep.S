/* SPDX-License-Identifier: MIT */
/* carry_copy_try_rep: copies words, as the stores of rep movsb are not exact if pages vanish. */
#define NAME rep
#include "copy/x86_64/try_words.h"
