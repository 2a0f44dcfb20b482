/* SPDX-License-Identifier: MIT */
#include "module.h"

uint64_t module_work(uint64_t number) {
    uint64_t scaled = carry_call(scale)(number);
    return 10 * scaled + (carry_unlikely(tracing) ? 1 : 0);
}
