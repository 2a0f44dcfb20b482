/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "signals.h"

#define OUTPUTS_MAX  2
#define NAMES_TO_TRY 1000
#define NAME_SIZE    64 /* room for "./.carry-", two numbers and the end */

/* What a signal is to remove: changed with signals held. */
static struct output *volatile live[OUTPUTS_MAX];

static void remove_live(void) {
    for (size_t i = 0; i < OUTPUTS_MAX; i++)
        if (live[i])
            unlink(live[i]->temporary);
}

static void set_live(const struct output *from, struct output *to) {
    for (size_t i = 0; i < OUTPUTS_MAX; i++)
        if (live[i] == from) {
            live[i] = to;
            return;
        }
}

/* --- Where it is to appear --- */

bool output_is_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A new file in its place would take nothing of what is still printed. */
static bool is_printed_to(const struct stat *status) {
    struct stat printed;
    for (int descriptor = STDOUT_FILENO; descriptor <= STDERR_FILENO; descriptor++)
        if (fstat(descriptor, &printed) == 0 && output_is_same(&printed, status))
            return true;
    return false;
}

/* Why nothing can appear in place of what is there, as an errno; 0 if it can. */
static int obstacle(const struct stat *status) {
    if (S_ISLNK(status->st_mode))
        return ELOOP;
    if (S_ISDIR(status->st_mode))
        return EISDIR;
    if (!S_ISREG(status->st_mode))
        return EEXIST;
    return is_printed_to(status) ? ETXTBSY : 0;
}

/* The file that `path` names, behind all links; of one that does not exist, `path` itself. */
static char *resolve(const char *path) {
    struct stat status;
    bool exists = stat(path, &status) == 0;
    if (!exists && (errno != ENOENT || !*path))
        return NULL;
    if (!exists && lstat(path, &status))
        return strdup(path);
    errno = obstacle(&status);
    return errno ? NULL : realpath(path, NULL);
}

const char *output_problem(int error) {
    switch (error) {
    case EEXIST:
        return "is no regular file";
    case ELOOP:
        return "is a link that leads nowhere";
    case ETXTBSY:
        return "is where this command prints to";
    default:
        return strerror(error);
    }
}

/* --- Until it appears --- */

/* How much of a path is its folder, with the slash. */
static int folder_size(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash + 1 - path) : 0;
}

static void name_descriptor(char *name, int descriptor) {
    snprintf(name, NAME_SIZE, "/proc/self/fd/%d", descriptor);
}

/* A file without a name, if the file system has such and it can be given one later. */
static int create_unnamed(const struct output *output, mode_t mode, char *folder) {
    char link[NAME_SIZE];
    sprintf(folder, "%.*s.", folder_size(output->path), output->path);
    int descriptor = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    name_descriptor(link, descriptor);
    if (descriptor >= 0 && access(link, F_OK)) {
        close(descriptor);
        descriptor = -1;
    }
    return descriptor;
}

static int create_named(const struct output *output, mode_t mode) {
    return open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

/* Gives what has no name one, in place of creating a file. */
static int link_unnamed(const struct output *output, mode_t mode) {
    char link[NAME_SIZE];
    (void)mode;
    name_descriptor(link, output->descriptor);
    return linkat(AT_FDCWD, link, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW);
}

/* Makes a name beside the path that nobody has; the name is "" again if that fails. */
static int make_name(struct output *output, mode_t mode,
                     int (*make)(const struct output *, mode_t)) {
    int made = -1;
    errno = EEXIST;
    for (int i = 0; i < NAMES_TO_TRY && made < 0 && errno == EEXIST; i++) {
        sprintf(output->temporary, "%.*s.carry-%ld-%d", folder_size(output->path), output->path,
                (long)getpid(), i);
        made = make(output, mode);
    }
    if (made < 0)
        output->temporary[0] = '\0';
    return made;
}

static int create(struct output *output, mode_t mode) {
    int descriptor = create_unnamed(output, mode, output->temporary);
    output->temporary[0] = '\0';
    return descriptor < 0 ? make_name(output, mode, create_named) : descriptor;
}

static void forget(struct output *output) {
    free(output->temporary);
    free(output->path);
    *output = (struct output){.descriptor = -1, .error = output->error};
}

bool output_open(struct output *output, const char *path, mode_t mode) {
    *output = (struct output){.path = resolve(path), .descriptor = -1};
    if (!output->path)
        return false;
    output->temporary = malloc(strlen(output->path) + NAME_SIZE);
    sigset_t before;
    signals_hold(&before);
    if (output->temporary)
        output->descriptor = create(output, mode);
    int error = errno;
    if (output->descriptor >= 0) {
        signals_undo(remove_live);
        set_live(NULL, output);
    }
    signals_release(&before);
    if (output->descriptor < 0)
        forget(output);
    errno = error;
    return output->path != NULL;
}

void output_write(struct output *output, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size && !output->error) {
        ssize_t written = write(output->descriptor, at, size);
        if (written < 0 && errno != EINTR)
            output->error = errno;
        if (written > 0) {
            at += written;
            size -= (size_t)written;
        }
    }
}

static ssize_t write_buffer(void *cookie, const char *bytes, size_t size) {
    struct output *output = cookie;
    output_write(output, bytes, size);
    return output->error ? 0 : (ssize_t)size;
}

FILE *output_stream(struct output *output) {
    const cookie_io_functions_t functions = {.write = write_buffer};
    if (!output->stream)
        output->stream = fopencookie(output, "w", functions);
    return output->stream;
}

static void close_stream(struct output *output) {
    if (output->stream)
        fclose(output->stream);
    output->stream = NULL;
}

static void close_descriptor(struct output *output) {
    if (output->descriptor >= 0 && close(output->descriptor) && !output->error)
        output->error = errno;
    output->descriptor = -1;
}

bool output_finish(struct output *output) {
    sigset_t before;
    close_stream(output);
    signals_hold(&before);
    if (!output->error && !*output->temporary && make_name(output, 0, link_unnamed))
        output->error = errno;
    signals_release(&before);
    close_descriptor(output);
    if (output->error)
        output_abandon(output);
    return !output->error;
}

/* The file has appeared, or is gone. */
static void settle(struct output *output) {
    sigset_t before;
    signals_hold(&before);
    set_live(output, NULL);
    forget(output);
    signals_release(&before);
}

bool output_publish(struct output *output) {
    if (rename(output->temporary, output->path)) {
        output->error = errno;
        output_abandon(output);
        return false;
    }
    settle(output);
    return true;
}

void output_abandon(struct output *output) {
    if (!output->path)
        return;
    close_stream(output);
    close_descriptor(output);
    unlink(output->temporary);
    settle(output);
}
