/* SPDX-License-Identifier: MIT */
#include "harness/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS 60

bool child_says(const char *mask, bool (*question)(void)) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS); /* a choice that never ends is wrong too */
        if (mask)
            setenv("CARRY_CPU_MASK", mask, 1);
        else
            unsetenv("CARRY_CPU_MASK");
        _exit(question() ? 0 : 1);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}
