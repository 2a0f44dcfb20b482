/* SPDX-License-Identifier: MIT */
/* Tells profilers and debuggers of functions made at run time: see carry_jit_list(). */
#ifndef CARRY_JIT_LISTING_H
#define CARRY_JIT_LISTING_H

#include <string>

#include <carry/jit.h>

namespace carry::jit {

/* Called under the cache's lock, when a function is there and when it is about to go. */
void list(const std::string &name, const struct carry_jit &jit);
void unlist(const struct carry_jit &jit);

} // namespace carry::jit

#endif
