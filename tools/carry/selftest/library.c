/* SPDX-License-Identifier: MIT */
#include "selftest/library.h"

const struct library library_own = {
#define MEMBER(name) .name = name,
    LIBRARY_FUNCTIONS(MEMBER)
#undef MEMBER
};
