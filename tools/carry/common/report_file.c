/* SPDX-License-Identifier: MIT */
#include "common/report_file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/command.h"

FILE *report_open(const char *path, FILE *otherwise) {
    FILE *stream = path ? fopen(path, "we") : otherwise;
    if (!stream)
        command_file_error(path, strerror(errno));
    return stream;
}

int report_close(const char *path, FILE *stream, int status) {
    if (!path)
        return status;
    bool failed = ferror(stream);
    if (fclose(stream) != 0 || failed)
        return command_file_error(path, "cannot write the report");
    return status;
}
