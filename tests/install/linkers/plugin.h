/* SPDX-License-Identifier: MIT */
/* The structure that plugin.c exports under the name `plugin`. */
#ifndef CARRY_TESTS_LINKERS_PLUGIN_H
#define CARRY_TESTS_LINKERS_PLUGIN_H

#include <stdbool.h>

struct plugin {
    long (*run)(long a); /* like share_run() */
    long (*choice)(long a);
    long (*early)(void); /* returns the operation's result for 10 in a constructor of the object */
    bool (*mode)(void);
    int (*set_mode)(bool on);
    int (*set_share)(bool negate);
    int (*apply)(unsigned flags); /* carry_patch_apply() of the object's library */
};

/*
 * Calls: one in run_early(), one in choice() and two in run(). Branches: one in run() and two in
 * mode().
 */
#define PLUGIN_CALLS 4
#define PLUGIN_SITES 7

#endif
