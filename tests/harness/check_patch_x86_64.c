/* SPDX-License-Identifier: MIT */
#include <cpuid.h>
#include <string.h>

#include "harness/check_patch.h"

bool placed_in_qemu(void) {
    unsigned eax, name[3];
    __cpuid(0x40000000, eax, name[0], name[1], name[2]);
    return !memcmp(name, "TCGTCGTCGTCG", sizeof name);
}

void placed_write_jump(uint8_t *code, placed_fn *function) {
    static const uint8_t jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    memcpy(code, jump, sizeof jump);
    memcpy(code + 2, &function, sizeof function);
}
