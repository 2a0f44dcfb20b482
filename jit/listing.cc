/* SPDX-License-Identifier: MIT */
#include "listing.h"

namespace carry::jit {

void list(const std::string &, const struct carry_jit &) {
}

void unlist(const struct carry_jit &) {
}

} // namespace carry::jit

int carry_jit_list(unsigned listings) {
    return listings ? CARRY_ERROR_UNSUPPORTED : CARRY_OK;
}
