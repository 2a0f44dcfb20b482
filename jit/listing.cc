/* SPDX-License-Identifier: MIT */
#include "listing.h"

#include <atomic>
#include <new>

#include "uncancelled.h"

namespace carry::jit {
namespace {

constexpr unsigned ALL_LISTINGS = CARRY_JIT_PERF | CARRY_JIT_GDB;

std::atomic<unsigned> chosen;

} // namespace

void list_function(const std::string &name, const struct carry_jit &jit) noexcept {
    try {
        if (chosen & CARRY_JIT_PERF)
            perf_list(name, jit);
        if (chosen & CARRY_JIT_GDB)
            gdb_list(name, jit);
    } catch (const std::bad_alloc &) {
    }
}

void unlist_function(const struct carry_jit &jit) noexcept {
    gdb_unlist(jit);
}

} // namespace carry::jit

int carry_jit_list(unsigned listings) {
    using namespace carry::jit;
    if (listings & ~ALL_LISTINGS)
        return CARRY_ERROR_INVALID;
    Uncancelled uncancelled;
    if (listings & CARRY_JIT_PERF && !perf_has_map())
        return CARRY_ERROR_PERMISSION;
    chosen = listings;
    return CARRY_OK;
}
