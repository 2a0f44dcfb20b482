/* SPDX-License-Identifier: MIT */
/* A shared object that is loaded and unloaded, with calls and entries to hook. */
#include <carry/hook.h>

#include "unit/hook/callee.h"

CARRY_HOOK_ENTRIES;

SHARED __attribute__((patchable_function_entry(5))) uint64_t plugin_add(uint64_t number);
uint64_t plugin_add(uint64_t number) {
    return callee_add(number, 2);
}

/* Returns 2. The program defines this function too. */
__attribute__((weak)) uint64_t plugin_number(void) {
    return 2;
}

/* Calls functions that the dynamic linker binds: of this object, and of another one. */
uint64_t plugin_numbers(bool really) {
    if (really)
        callee_nowhere();
    return 10 * plugin_number() + callee_number();
}
