/* SPDX-License-Identifier: MIT */
/* An architecture without sites: the headers create none, and other records are ignored. */
#include "patch/patch_internal.h"

bool carry_encode_supports(const struct carry_site *site) {
    (void)site;
    return false;
}

size_t carry_encode_aux_bytes(const struct carry_site *record, bool seen) {
    (void)record;
    (void)seen;
    return 0;
}

void carry_encode_original(const struct carry_site *site, uint8_t *bytes) {
    (void)site;
    (void)bytes;
}

bool carry_encode(const struct carry_site *site, uintptr_t value, const struct carry_site *body,
                  uint8_t *bytes) {
    (void)site;
    (void)value;
    (void)body;
    (void)bytes;
    return false;
}

bool carry_encode_is_inline(const struct carry_site *site, const uint8_t *bytes) {
    (void)site;
    (void)bytes;
    return false;
}

bool carry_encode_swaps(const uint8_t *from, const uint8_t *to, size_t length) {
    (void)from;
    (void)to;
    (void)length;
    return false;
}

enum carry_guard carry_encode_guard(uintptr_t site, size_t length, bool writes_pairs) {
    (void)site;
    (void)length;
    (void)writes_pairs;
    return CARRY_GUARD_NONE;
}

size_t carry_encode_guard_bytes(enum carry_guard guard, uint8_t *bytes) {
    (void)guard;
    (void)bytes;
    return 0;
}

const uint8_t carry_patch_probe_byte[1] = {0};

uint8_t carry_patch_probe(void) {
    return carry_patch_probe_byte[0];
}

uintptr_t carry_patch_nothing(void) {
    return 0;
}

void carry_patch_never(void) {
    __builtin_trap();
}
