/* SPDX-License-Identifier: MIT */
/* A shared object whose functions hooks.cc hooks; static programs contain it. */
#include "hooked.h"

int hooked_throw(int number) {
    if (number < 0)
        throw number;
    return number + 1;
}

int hooked_apply(int (*function)(int), int number) {
    return function(number);
}
