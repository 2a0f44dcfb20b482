/* SPDX-License-Identifier: MIT */
#ifndef CARRY_TESTS_LINKERS_HOOKED_H
#define CARRY_TESTS_LINKERS_HOOKED_H

__attribute__((visibility("default"))) int hooked_throw(int number);
__attribute__((visibility("default"))) int hooked_apply(int (*function)(int), int number);

#endif
