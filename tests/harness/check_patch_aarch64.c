/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "harness/check_patch.h"

void placed_write_jump(uint8_t *code, placed_fn *function) {
    static const uint32_t jump[] = {0x58000050, 0xd61f0200}; /* ldr x16, . + 8; br x16 */
    memcpy(code, jump, sizeof jump);
    memcpy(code + sizeof jump, &function, sizeof function);
    __builtin___clear_cache((char *)code, (char *)code + PLACED_JUMP_BYTES);
}
