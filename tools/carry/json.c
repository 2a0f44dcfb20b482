/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <stdlib.h>

#include "text.h"

json_t *json_name(const char *name) {
    char *text = name ? text_utf8(name) : NULL;
    json_t *json = text ? json_string(text) : json_null();
    free(text);
    return json;
}

void json_print(FILE *stream, json_t *object) {
    json_dumpf(object, stream, JSON_COMPACT);
    putc('\n', stream);
    json_decref(object);
}
