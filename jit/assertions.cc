/* SPDX-License-Identifier: MIT */
/*
 * asmjit's own of these write to `stderr`, of another library: the one word by which an archive of
 * asmjit that was compiled for executables, as Debian's is, fits into no shared object.
 */
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include <asmjit/core.h>

ASMJIT_BEGIN_NAMESPACE
namespace DebugUtils {

const char *errorAsString(Error) noexcept {
    return "error";
}

void debugOutput(const char *text) noexcept {
    (void)!write(STDERR_FILENO, text, strlen(text));
}

ASMJIT_NORETURN void assertionFailed(const char *, int, const char *text) noexcept {
    debugOutput(text);
    abort();
}

} // namespace DebugUtils
ASMJIT_END_NAMESPACE
