/* SPDX-License-Identifier: MIT */
#include "harness/bail.h"

#include <stdio.h>
#include <stdlib.h>

void bail_out(const char *why) {
    printf("Bail out! %s\n", why);
    exit(1);
}
