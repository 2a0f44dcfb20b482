/* SPDX-License-Identifier: MIT */
/* Lists functions made at run time for profilers and debuggers: see carry_jit_list(). */
#ifndef CARRY_JIT_LISTING_H
#define CARRY_JIT_LISTING_H

#include <string>

#include <carry/jit.h>

namespace carry::jit {

/*
 * Add a function after it was made, and remove it from GDB's list before the cache removes it. The
 * caller holds the cache's lock. Calls of the function do not depend on the listing, so a function
 * that cannot be listed, for example for lack of memory, is omitted.
 */
void list_function(const std::string &name, const struct carry_jit &jit) noexcept;
void unlist_function(const struct carry_jit &jit) noexcept;

/* Return whether perf's map of names can be written, and add a line to it. */
bool perf_has_map() noexcept;
void perf_list(const std::string &name, const struct carry_jit &jit);

/* Add a function to GDB's list of symbol files in memory, and remove it. */
void gdb_list(const std::string &name, const struct carry_jit &jit);
void gdb_unlist(const struct carry_jit &jit) noexcept;

} // namespace carry::jit

#endif
