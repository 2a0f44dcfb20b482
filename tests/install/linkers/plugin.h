/* SPDX-License-Identifier: MIT */
/* The structure that plugin.c exports under the name `plugin`. */
#ifndef CARRY_TESTS_LINKERS_PLUGIN_H
#define CARRY_TESTS_LINKERS_PLUGIN_H

#include <stdbool.h>

struct plugin {
    long (*run)(long a); /* like share_run() */
    long (*choice)(long a);
    long (*early)(void); /* the operation's result for 10, before main() or the end of dlopen() */
    bool (*mode)(void);
    int (*set_mode)(bool on);
    int (*set_share)(bool negate);
    int (*apply)(unsigned flags); /* carry_patch_apply() of the library with which the object is
                                     linked */
};

/* Calls in run_early() and choice(), two in run(), and branches in run() and two in mode(). */
#define PLUGIN_CALLS 4
#define PLUGIN_SITES 7

#endif
