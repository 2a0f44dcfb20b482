/* SPDX-License-Identifier: MIT */
#include "sites/open.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/command.h"

static int open_object_file(struct program *program) {
    char problem[OBJECT_PROBLEM_SIZE];
    int file = open(program->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return command_file_error(program->name, strerror(errno));
    struct object *object = object_open(file, "", program->name, problem);
    if (!object) {
        command_file_error(program->name, problem);
        return STATUS_DAMAGED;
    }
    if (program_add(program, object, NULL))
        return STATUS_CLEAN;
    object_close(object);
    return command_error("out of memory");
}

static int open_any(struct program *program) {
    size_t digits = 0;
    while (isdigit((unsigned char)program->name[digits]))
        digits++;
    if (!digits || program->name[digits])
        return open_object_file(program);
    errno = 0;
    program->pid = strtol(program->name, NULL, 10);
    if (errno || program->pid <= 0 || program->pid > INT32_MAX)
        return command_error("there is no process %s", program->name);
    return program_open_process(program);
}

int program_open(struct program *program, const char *name) {
    *program = (struct program){.name = name, .memory = -1};
    int status = open_any(program);
    if (status != STATUS_CLEAN)
        return status;
    return program_collect_bodies(program) ? STATUS_CLEAN : command_error("out of memory");
}
