/* SPDX-License-Identifier: MIT */
/* The second source file with sites of the same operations and keys. */
#include "sites.h"

long header_there(int a) {
    return by_header(a);
}

long shared_there(int a) {
    return SHARED(a);
}

/* Equals twin_a(): a linker may fold the two. */
long twin_b(long a) {
    return carry_call(op2)(a, 5);
}

/* Uses a key of here.c. In this file, only the alternative names the key. */
uint64_t alternative_key_one(uint64_t a) {
    uint64_t result;
    RUN_BY_KEY(CARRY_ALT_KEY_ONE(ADD(0x20), key_alt, ADD(4)), key_alt);
    return result;
}
