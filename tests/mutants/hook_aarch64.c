/* SPDX-License-Identifier: MIT */
#include "mutants/hook_aarch64.h"

#include "hook/stub.h"

bool broken_hook_all_are_base;

const void *__real_carry_stub_thunk(bool around, bool whole);
const void *__wrap_carry_stub_thunk(bool around, bool whole);

const void *__wrap_carry_stub_thunk(bool around, bool whole) {
    return __real_carry_stub_thunk(around, whole && !broken_hook_all_are_base);
}
