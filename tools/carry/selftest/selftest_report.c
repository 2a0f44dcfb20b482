/* SPDX-License-Identifier: MIT */
#include "selftest/selftest_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json.h"
#include "common/text.h"
#include "selftest/selftest.h"

static void print_file(const struct selftest_file *file) {
    text_print_name(stdout, file->path ? file->path : "?");
    printf(file->build_id ? "\n  build ID %s\n" : "\n", file->build_id);
}

static json_t *file_json(const struct selftest_file *file) {
    json_t *object = json_object();
    json_set_name(object, "path", file->path);
    json_object_set_new(object, "build_id",
                        file->build_id ? json_string(file->build_id) : json_null());
    return object;
}

static void free_files(struct selftest_file *files, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(files[i].path);
        free(files[i].build_id);
    }
    free(files);
}

void report_print_head(const struct report_head *head) {
    char text[TEXT_SIZE];
    size_t count;
    struct selftest_file *files = selftest_files(head->library, &count);
    printf("carry %s\n", head->library->carry_version_text());
    text_print_field("Commit", head->commit);
    if (head->seed) {
        snprintf(text, sizeof text, "%" PRIu64, *head->seed);
        text_print_field("Seed", text);
    }
    for (size_t i = 0; i < count; i++)
        print_file(&files[i]);
    putchar('\n');
    free_files(files, count);
}

json_t *report_head_json(const struct report_head *head) {
    size_t count;
    struct selftest_file *files = selftest_files(head->library, &count);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, file_json(&files[i]));
    free_files(files, count);
    return json_pack("{s:s, s:s, s:o*, s:o}", "version", head->library->carry_version_text(),
                     "commit", head->commit, "seed", head->seed ? json_number(*head->seed) : NULL,
                     "files", list);
}
