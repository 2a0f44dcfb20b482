/* SPDX-License-Identifier: MIT */
/* A shared object whose functions are hooked by hooks.cc: also linked into it, for static ones. */
#include "hooked.h"

int hooked_throw(int number) {
    if (number < 0)
        throw number;
    return number + 1;
}

int hooked_apply(int (*function)(int), int number) {
    return function(number);
}
