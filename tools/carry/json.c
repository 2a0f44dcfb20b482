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

json_t *json_number(uint64_t value) {
    return json_integer((json_int_t)value);
}

static void print(FILE *stream, json_t *object, size_t layout) {
    json_dumpf(object, stream, layout | JSON_REAL_PRECISION(6));
    putc('\n', stream);
    json_decref(object);
}

void json_print(FILE *stream, json_t *object) {
    print(stream, object, JSON_COMPACT);
}

void json_print_report(json_t *object) {
    print(stdout, object, JSON_INDENT(1));
}
