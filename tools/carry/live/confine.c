/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "live/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* System call numbers depend on the architecture. On architectures other than these two there is no
   filter. */
#if defined __x86_64__ && !defined __ILP32__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__ && defined __AARCH64EL__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0u
#endif

/* At exit, the leak sanitizer starts a process that traces this one, which the filter would
   prevent. */
#if defined __has_feature
#define IS_SANITIZED __has_feature(address_sanitizer)
#elif defined __SANITIZE_ADDRESS__
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE(code) RETURN(SECCOMP_RET_ERRNO | (code))

/* Skips `skipped` instructions unless the loaded word equals `value`, or has `bit`. */
#define UNLESS_EQUAL(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skipped))
#define UNLESS_SET(bit, skipped)     BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bit), 0, (skipped))

#define CALL(name) UNLESS_EQUAL(__NR_##name, 1), RETURN(SECCOMP_RET_ALLOW),

/*
 * The first argument is in the lower half of args[0]; LOAD() reads that half on both architectures,
 * as they are little-endian. The flags of clone3() are in memory, which a filter cannot read, so
 * the C library must fall back to clone(). Names of interfaces are looked up through a socket of
 * any kind.
 */
static const struct sock_filter instructions[] = {
    LOAD(arch),
    UNLESS_EQUAL(ARCHITECTURE, 1),
    BPF_STMT(BPF_JMP | BPF_JA, 1),
    REFUSE(EPERM),
    LOAD(nr),
#include "live/confine.def"
    UNLESS_EQUAL(__NR_clone3, 1),
    REFUSE(ENOSYS),
    UNLESS_EQUAL(__NR_clone, 4),
    LOAD(args[0]),
    UNLESS_SET(CLONE_THREAD, 1),
    RETURN(SECCOMP_RET_ALLOW),
    REFUSE(EPERM),
    UNLESS_EQUAL(__NR_socket, 5),
    LOAD(args[0]),
    UNLESS_EQUAL(AF_UNIX, 1),
    RETURN(SECCOMP_RET_ALLOW),
    UNLESS_EQUAL(AF_INET, 1),
    RETURN(SECCOMP_RET_ALLOW),
    REFUSE(EPERM),
};

void confine(void) {
    const struct sock_fprog program = {
        .len = sizeof instructions / sizeof *instructions,
        .filter = (struct sock_filter *)(uintptr_t)instructions,
    };
    if (ARCHITECTURE && !IS_SANITIZED)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
