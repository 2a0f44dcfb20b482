/* SPDX-License-Identifier: MIT */
/* Lists functions made at run time for profilers and debuggers: see carry_jit_list(). */
#ifndef CARRY_JIT_LISTING_H
#define CARRY_JIT_LISTING_H

#include <string>

#include <carry/jit.h>

namespace carry::jit {

/*
 * Called under the cache's lock, after a function was made and before it is removed. Callers of the
 * function do not depend on the listing, so a function that cannot be listed, for example for lack
 * of memory, is left out.
 */
void list_function(const std::string &name, const struct carry_jit &jit) noexcept;
void unlist_function(const struct carry_jit &jit) noexcept;

/* perf_has_map() returns whether perf's map of names can be written; perf_list() adds a line. */
bool perf_has_map() noexcept;
void perf_list(const std::string &name, const struct carry_jit &jit);

/* GDB's list of symbol files in memory. */
void gdb_list(const std::string &name, const struct carry_jit &jit);
void gdb_unlist(const struct carry_jit &jit) noexcept;

} // namespace carry::jit

#endif
