/* SPDX-License-Identifier: MIT */
/* Tells profilers and debuggers of functions made at run time: see carry_jit_list(). */
#ifndef CARRY_JIT_LISTING_H
#define CARRY_JIT_LISTING_H

#include <string>

#include <carry/jit.h>

namespace carry::jit {

/*
 * Called under the cache's lock, when a function is there and when it is about to go. Who runs it
 * does not depend on it, so what cannot be listed, for lack of memory say, stays out.
 */
void list(const std::string &name, const struct carry_jit &jit) noexcept;
void unlist(const struct carry_jit &jit) noexcept;

/* perf's map of names. Can it be written? And: one line for it. */
bool perf_has_map() noexcept;
void perf_list(const std::string &name, const struct carry_jit &jit);

/* GDB's list of symbol files in memory. */
void gdb_list(const std::string &name, const struct carry_jit &jit);
void gdb_unlist(const struct carry_jit &jit) noexcept;

} // namespace carry::jit

#endif
