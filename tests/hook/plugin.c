/* SPDX-License-Identifier: MIT */
/* A shared object that is loaded and unloaded, with calls and entries to hook. */
#include <carry/hook.h>

#include "hook/callee.h"

CARRY_HOOK_ENTRIES;

SHARED __attribute__((patchable_function_entry(5))) uint64_t plugin_add(uint64_t number);
uint64_t plugin_add(uint64_t number) {
    return callee_add(number, 2);
}
