/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <nss.h>
#include <stdlib.h>
#include <string.h>

#include "common/start.h"
#include "common/text.h"

/*
 * The services of each database that glibc itself contains. Any other service that nsswitch.conf(5)
 * names is a module, which glibc would load. carry live needs the first three databases; filters
 * need the others.
 */
static const struct lookup {
    const char *database, *services;
} lookups[] = {
    {"passwd", "files"},   {"group", "files"},     {"initgroups", "files"}, {"hosts", "files dns"},
    {"networks", "files"}, {"protocols", "files"}, {"services", "files"},
};

static const char *locale_name(void) {
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            return value;
    }
    return "C";
}

const bool start_is_static = true;

void start_prepare(void) {
    const char *name = locale_name();
    text_use_utf8(strcasestr(name, ".UTF-8") || strcasestr(name, ".utf8"));
    for (size_t i = 0; i < sizeof lookups / sizeof *lookups; i++)
        __nss_configure_lookup(lookups[i].database, lookups[i].services);
}
