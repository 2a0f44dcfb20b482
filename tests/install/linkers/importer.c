/* SPDX-License-Identifier: MIT */
/*
 * A program at a low address, from which a call of address 0 is in range. Its sites are patched
 * before the called functions are imported: an object has called carry_patch_apply() by then.
 */
#include "expect.h"
#include "share.h"

CARRY_KEY(first);
CARRY_KEY_DEFINE(first, true);
CARRY_OP_IMPORT(share_op);
CARRY_KEY_IMPORT(share_key);
CARRY_OP_IMPORT(share_choice);

int main(void) {
    for (int i = 0; i < 4; i++) {
        EXPECT(carry_likely(first), true);
        EXPECT(carry_call(share_op)(5), i & 1 ? 4 : 6);
        EXPECT(carry_unlikely(share_key), i & 1);
        EXPECT(carry_call(share_choice)(5), 4);
        EXPECT(share_set(!(i & 1), !(i & 1)), CARRY_OK);
    }
    return result();
}
