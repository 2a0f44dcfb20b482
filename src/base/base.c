/* SPDX-License-Identifier: MIT */
/* The version of the library, and the names and texts of errors. */
#include <carry/base.h>

unsigned carry_version(void) {
    return CARRY_VERSION;
}

const char *carry_version_text(void) {
    return CARRY_VERSION_TEXT;
}

#define CARRY_ERROR(name, number, text) {name, #name, text},
static const struct row {
    int error;
    const char *name;
    const char *text;
} rows[] = {
#include <carry/errors.def>
};
#undef CARRY_ERROR

static const struct row *find_error_row(int error) {
    static const struct row none = {.name = "unknown", .text = "unknown"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].error == error)
            return &rows[i];
    return &none;
}

const char *carry_error_name(int error) {
    return find_error_row(error)->name;
}

const char *carry_error_text(int error) {
    return find_error_row(error)->text;
}
