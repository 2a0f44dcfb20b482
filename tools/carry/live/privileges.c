/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "live/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/command.h"

/* Returns the user who called sudo; NULL if sudo was not used, or if this system does not know the
   user. */
static const struct passwd *sudo_caller(void) {
    const char *text = getenv("SUDO_UID");
    uint64_t user;
    if (geteuid() != 0 || !text || !command_parse(text, 1, UINT32_MAX - 1, &user))
        return NULL;
    return getpwuid((uid_t)user);
}

static bool become_user(const struct passwd *user) {
    return initgroups(user->pw_name, user->pw_gid) == 0 &&
           setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0 &&
           setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0;
}

/* Changes to sudo's caller. Remains root if the user does not exist, as in a user namespace, or if
   changing is not permitted. */
static bool become_caller(void) {
    const struct passwd *user = sudo_caller();
    return !user || become_user(user) || errno == EINVAL || errno == EPERM;
}

static bool become_named(const char *name) {
    uint64_t number;
    errno = 0;
    const struct passwd *user =
        command_parse(name, 0, UINT32_MAX - 1, &number) ? getpwuid((uid_t)number) : getpwnam(name);
    if (user)
        return become_user(user);
    errno = errno ? errno : ENOENT;
    return false;
}

static bool drop_capabilities(void) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* Linux 4.3 */
    return syscall(SYS_capset, &head, none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* Drops the rights of a setuid or setgid program: changes back to its caller's user and group. */
static bool drop_setuid(void) {
    return (getuid() == geteuid() && getgid() == getegid()) ||
           (setresgid(getgid(), getgid(), getgid()) == 0 &&
            setresuid(getuid(), getuid(), getuid()) == 0);
}

bool privileges_drop(const char *user) {
    return drop_setuid() && (user ? become_named(user) : become_caller()) && drop_capabilities();
}
