/* SPDX-License-Identifier: MIT */
#include "xstate/names.h"

#include <stdio.h>

#include <carry/xstate.h>

char *xstate_names(char *buffer, uint64_t mask) {
    size_t used = (size_t)snprintf(buffer, XSTATE_NAMES_SIZE, "none");
    const char *separator = "";
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++) {
        if (!(mask >> i & 1))
            continue;
        used = *separator ? used : 0;
        used += (size_t)snprintf(buffer + used, XSTATE_NAMES_SIZE - used, "%s%s", separator,
                                 carry_xstate_name(i));
        separator = " ";
    }
    return buffer;
}

json_t *xstate_names_json(uint64_t mask) {
    json_t *list = json_array();
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        if (mask >> i & 1)
            json_array_append_new(list, json_string(carry_xstate_name(i)));
    return list;
}
