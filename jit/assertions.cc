/* SPDX-License-Identifier: MIT */
/*
 * Replaces asmjit's functions for assertions. They refer to `stderr`, an object of another library.
 * That reference alone prevents an archive of asmjit that was compiled for executables, such as
 * Debian's, from being linked into a shared object.
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
