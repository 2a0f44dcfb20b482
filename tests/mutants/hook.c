/* SPDX-License-Identifier: MIT */
#include "mutants/hook.h"

#include <string.h>

#include "hook/hook_internal.h"
#include "patch/patch_internal.h"

enum broken_hook broken_hook;

void __real_carry_stub_write(uint8_t *stub, uint32_t distance, uint8_t thunk_offset);
void __wrap_carry_stub_write(uint8_t *stub, uint32_t distance, uint8_t thunk_offset);
int __real_carry_slots_restore(const struct carry_hook_point *points);
int __wrap_carry_slots_restore(const struct carry_hook_point *points);
bool __real_carry_site_is_multi_insn(const struct carry_site *site);
bool __wrap_carry_site_is_multi_insn(const struct carry_site *site);
bool __real_carry_ucontext_is_readable(uintptr_t address);
bool __wrap_carry_ucontext_is_readable(uintptr_t address);

/* Instructions that replace the landing pad. */
#ifdef __aarch64__
#define LOSE_HIDDEN "\x08\x00\x80\xd2" /* mov x8, #0 */
#define LOSE_CHAIN  "\x12\x00\x80\xd2" /* mov x18, #0 */
#else
#define LOSE_HIDDEN "\x31\xc0\x66\x90" /* xor %eax, %eax; nop */
#define LOSE_CHAIN  "\x45\x31\xd2\x90" /* xor %r10d, %r10d; nop */
#endif

void __wrap_carry_stub_write(uint8_t *stub, uint32_t distance, uint8_t thunk_offset) {
    __real_carry_stub_write(stub, distance, thunk_offset);
    if (broken_hook == BROKEN_HOOK_HIDDEN)
        memcpy(stub, LOSE_HIDDEN, CARRY_LANDING_BYTES);
    if (broken_hook == BROKEN_HOOK_CHAIN)
        memcpy(stub, LOSE_CHAIN, CARRY_LANDING_BYTES);
}

int __wrap_carry_slots_restore(const struct carry_hook_point *points) {
    return broken_hook == BROKEN_HOOK_LEFT_BEHIND ? CARRY_OK : __real_carry_slots_restore(points);
}

bool __wrap_carry_ucontext_is_readable(uintptr_t address) {
    return broken_hook == BROKEN_HOOK_PAST_END || __real_carry_ucontext_is_readable(address);
}

bool __wrap_carry_site_is_multi_insn(const struct carry_site *site) {
    return broken_hook != BROKEN_HOOK_NOT_QUIET && __real_carry_site_is_multi_insn(site);
}
