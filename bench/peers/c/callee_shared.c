/* SPDX-License-Identifier: MIT */
#include "callee.h"

size_t peer_callee_shared(size_t count) {
    return count + 1;
}
