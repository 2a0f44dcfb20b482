/* SPDX-License-Identifier: MIT */
#include "broken/hook.h"

#include <string.h>

#include "hook/hook.h"
#include "patch/patch.h"

enum broken_hook broken_hook;

void __real_carry_stub_write(uint8_t *stub, uint32_t distance, uint8_t thunk_offset);
void __wrap_carry_stub_write(uint8_t *stub, uint32_t distance, uint8_t thunk_offset);
int __real_carry_slots_restore(const struct carry_hook_point *points);
int __wrap_carry_slots_restore(const struct carry_hook_point *points);
bool __real_carry_site_is_several(const struct carry_site *site);
bool __wrap_carry_site_is_several(const struct carry_site *site);
bool __real_carry_ucontext_is_readable(uintptr_t address);
bool __wrap_carry_ucontext_is_readable(uintptr_t address);

/* In the place of endbr64. */
void __wrap_carry_stub_write(uint8_t *stub, uint32_t distance, uint8_t thunk_offset) {
    __real_carry_stub_write(stub, distance, thunk_offset);
    if (broken_hook == BROKEN_HOOK_RAX)
        memcpy(stub, "\x31\xc0\x66\x90", 4); /* xor %eax, %eax; nop */
    if (broken_hook == BROKEN_HOOK_R10)
        memcpy(stub, "\x45\x31\xd2\x90", 4); /* xor %r10d, %r10d; nop */
}

int __wrap_carry_slots_restore(const struct carry_hook_point *points) {
    return broken_hook == BROKEN_HOOK_LEFT_BEHIND ? CARRY_OK : __real_carry_slots_restore(points);
}

bool __wrap_carry_ucontext_is_readable(uintptr_t address) {
    return broken_hook == BROKEN_HOOK_PAST_END || __real_carry_ucontext_is_readable(address);
}

bool __wrap_carry_site_is_several(const struct carry_site *site) {
    return broken_hook != BROKEN_HOOK_NOT_QUIET && __real_carry_site_is_several(site);
}
