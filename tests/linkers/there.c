/* SPDX-License-Identifier: MIT */
/* The second source file with sites of the same operations and keys. */
#include "sites.h"

long header_there(int a) {
    return by_header(a);
}

long shared_there(int a) {
    return SHARED(a);
}

/* The same instructions as its twin: a linker may fold the two. */
long twin_b(long a) {
    return carry_call(op2)(a, 5);
}
