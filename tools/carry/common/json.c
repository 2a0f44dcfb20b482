/* SPDX-License-Identifier: MIT */
#include "common/json.h"

#include <stdlib.h>
#include <string.h>

#include "common/text.h"

json_t *json_name(const char *name) {
    char *text = name ? text_utf8(name) : NULL;
    json_t *json = text ? json_string(text) : json_null();
    free(text);
    return json;
}

json_t *json_number(uint64_t value) {
    return json_integer((json_int_t)value);
}

void json_set_name(json_t *object, const char *key, const char *name) {
    char hex_key[32], *hex;
    json_object_set_new(object, key, json_name(name));
    if (!name || text_is_utf8(name) || !(hex = malloc(2 * strlen(name) + 1)))
        return;
    for (size_t i = 0; name[i]; i++)
        sprintf(hex + 2 * i, "%02x", (unsigned char)name[i]);
    snprintf(hex_key, sizeof hex_key, "%s_hex", key);
    json_object_set_new(object, hex_key, json_string(hex));
    free(hex);
}

/* Prints a character as \u1234, with a pair of surrogates beyond U+FFFF. */
static void print_escaped(FILE *stream, uint32_t code) {
    if (code > 0xffff) {
        fprintf(stream, "\\u%04x", (unsigned)(0xd800 + ((code - 0x10000) >> 10)));
        code = 0xdc00 + (code & 0x3ff);
    }
    fprintf(stream, "\\u%04x", (unsigned)code);
}

/* Returns how many bytes at the start of `json` need no escape. A newline is one of them: it occurs
   only between members, never in a string. */
static size_t plain_size(const char *json) {
    size_t size = 0;
    while (json[size] && (json[size] == '\n' || text_character(json + size).is_safe))
        size += text_character(json + size).size;
    return size;
}

/* Prints JSON, and escapes all that could control a terminal: jansson escapes only what JSON
   demands. */
static void print_safe(FILE *stream, const char *json) {
    for (;;) {
        size_t size = plain_size(json);
        fwrite(json, 1, size, stream);
        json += size;
        if (!*json)
            return;
        struct text_character character = text_character(json);
        print_escaped(stream, character.code);
        json += character.size;
    }
}

/* Returns an object with the version and then the members of `object`; releases `object`. */
static json_t *with_version(json_t *object) {
    json_t *all = json_pack("{s:i}", "schema", JSON_SCHEMA);
    json_object_update(all, object);
    json_decref(object);
    return all;
}

static void print_object(FILE *stream, json_t *members, size_t layout) {
    json_t *object = with_version(members);
    char *text = json_dumps(object, layout | JSON_REAL_PRECISION(6));
    if (text)
        print_safe(stream, text);
    putc('\n', stream);
    free(text);
    json_decref(object);
}

void json_print(FILE *stream, json_t *object) {
    print_object(stream, object, JSON_COMPACT);
}

void json_print_report(json_t *object) {
    print_object(stdout, object, JSON_INDENT(1));
}
