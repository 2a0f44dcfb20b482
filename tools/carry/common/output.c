/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/command.h"
#include "common/file_name.h"
#include "common/pack.h"
#include "common/pipe.h"
#include "common/signals.h"

#define OUTPUTS_MAX  3
#define NAMES_TO_TRY 1000
#define TEMPORARY    ".carry-%ld-%d" /* the process ID, and a number */
#define NAME_SIZE    64              /* room for "./", TEMPORARY and the NUL */

/* Permissions for the owner, the only ones while a file is incomplete. */
#define OWNER_MODE (S_IRUSR | S_IWUSR)

/* Outputs that a signal must remove; change the list only while signals are held. */
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

/* --- The destination --- */

bool output_is_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool leads_to(int descriptor, const struct stat *status) {
    struct stat there;
    return fstat(descriptor, &there) == 0 && output_is_same(&there, status);
}

/* Checks whether standard output or standard error writes to this file. Replacing the file would
   lose what is printed later. */
static bool is_printed_to(const struct stat *status) {
    return leads_to(STDOUT_FILENO, status) || leads_to(STDERR_FILENO, status);
}

/* Returns as an errno why an output cannot replace a file; 0 if it can. */
static int replace_errno(const char *path, const struct stat *status) {
    if (S_ISLNK(status->st_mode))
        return ELOOP;
    if (S_ISDIR(status->st_mode))
        return EISDIR;
    if (!S_ISREG(status->st_mode))
        return EEXIST;
    if (!(status->st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)))
        return EPERM;
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))
        return errno;
    return is_printed_to(status) ? ETXTBSY : 0;
}

/* Returns the file that `path` names after all links, or `path` itself if nothing exists there.
 * Returns NULL with errno set if no output may replace the file. */
static char *resolve_links(const char *path) {
    struct stat status;
    bool exists = stat(path, &status) == 0;
    if (!exists && (errno != ENOENT || !*path))
        return NULL;
    if (!exists && lstat(path, &status))
        return strdup(path);
    errno = replace_errno(path, &status);
    return errno ? NULL : realpath(path, NULL);
}

int output_check_name(const char *command, const char *option, const char *path) {
    if (!path || !file_name_is_packed(path) || pack_knows(path))
        return STATUS_CLEAN;
    return command_usage(command, "--%s cannot compress as the name '%s' says", option, path);
}

bool output_is_own(const struct stat *status) {
    for (size_t i = 0; i < OUTPUTS_MAX; i++)
        if (live[i] && leads_to(live[i]->descriptor, status))
            return true;
    return S_ISREG(status->st_mode) && is_printed_to(status);
}

const char *output_problem(int error) {
    switch (error) {
    case EALREADY:
        return "is an output of this command already";
    case EBUSY:
        return "is the standard error of this command, too";
    case EEXIST:
        return "is not a regular file";
    case ELOOP:
        return "is a dangling link";
    case ENOTTY:
        return "is a terminal, and a capture is not text";
    case EPERM:
        return "is write-protected";
    case ETXTBSY:
        return "is the standard output of this command";
    default:
        return strerror(error);
    }
}

/* --- Bytes --- */

/* Handles a failed write. If another process has made a pipe non-blocking, waits until the pipe has
   room. */
static void note_failure(struct output *output) {
    struct pollfd room = {.fd = output->descriptor, .events = POLLOUT};
    if (errno == EAGAIN)
        poll(&room, 1, -1);
    else if (errno != EINTR)
        output->error = errno;
}

static void write_fully(void *context, const void *bytes, size_t size) {
    struct output *output = context;
    const char *at = bytes;
    while (size && !output->error) {
        ssize_t written = write(output->descriptor, at, size);
        if (written < 0)
            note_failure(output);
        if (written > 0) {
            at += written;
            size -= (size_t)written;
        }
    }
}

/* --- The temporary file --- */

/* Returns the length of a path's folder, with the slash. */
static int folder_size(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash + 1 - path) : 0;
}

/* Identifies the folder by its device and inode: it may have many paths. */
static bool find_folder(struct output *output) {
    sprintf(output->temporary, "%.*s.", folder_size(output->path), output->path);
    return stat(output->temporary, &output->folder) == 0;
}

/* Checks whether another output of this process will appear under the same path. */
static bool is_taken(const struct output *output) {
    const char *name = output->path + folder_size(output->path);
    for (size_t i = 0; i < OUTPUTS_MAX; i++)
        if (live[i] && output_is_same(&live[i]->folder, &output->folder) &&
            strcmp(live[i]->path + folder_size(live[i]->path), name) == 0)
            return true;
    return false;
}

bool output_is_unfinished(const char *path) {
    long process;
    int number, size = 0;
    const char *name = path + folder_size(path);
    return sscanf(name, TEMPORARY "%n", &process, &number, &size) == 2 && !name[size];
}

static void name_descriptor(char *name, int descriptor) {
    snprintf(name, NAME_SIZE, "/proc/self/fd/%d", descriptor);
}

/* Creates a file without a name; -1 if the file system does not support that, or the file cannot be
   linked later. */
static int create_unnamed(const char *folder, mode_t mode) {
    char link[NAME_SIZE];
    int descriptor = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
    name_descriptor(link, descriptor);
    if (descriptor >= 0 && access(link, F_OK)) {
        close(descriptor);
        descriptor = -1;
    }
    return descriptor;
}

static int create_named(const struct output *output) {
    const mode_t mode = output->mode & OWNER_MODE;
    return open(output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

/* Links an unnamed file to the temporary name. */
static int link_unnamed(const struct output *output) {
    char link[NAME_SIZE];
    name_descriptor(link, output->descriptor);
    return linkat(AT_FDCWD, link, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW);
}

/* Calls `make` with temporary names in the folder of the path until one is free. The name is ""
   again if that fails. */
static int make_name(struct output *output, int (*make)(const struct output *)) {
    int made = -1;
    errno = EEXIST;
    for (int i = 0; i < NAMES_TO_TRY && made < 0 && errno == EEXIST; i++) {
        sprintf(output->temporary, "%.*s" TEMPORARY, folder_size(output->path), output->path,
                (long)getpid(), i);
        made = make(output);
    }
    if (made < 0)
        output->temporary[0] = '\0';
    return made;
}

/* Creates the file, for its owner only, in the folder where it will appear. Returns -1 with errno
   set on failure. */
static int create_temporary(struct output *output) {
    if (!find_folder(output))
        return -1;
    if (is_taken(output)) {
        errno = EALREADY;
        return -1;
    }
    int descriptor = create_unnamed(output->temporary, output->mode & OWNER_MODE);
    output->temporary[0] = '\0';
    return descriptor < 0 ? make_name(output, create_named) : descriptor;
}

static mode_t present_umask(void) {
    const mode_t mask = umask(0);
    umask(mask);
    return mask;
}

static void forget_output(struct output *output) {
    pack_close(output->pack);
    free(output->temporary);
    free(output->path);
    *output = (struct output){.descriptor = -1, .error = output->error};
}

/* Opens compression if the name demands it. Returns false with errno set, after removing the file,
   if that fails. */
static bool open_pack_as_named(struct output *output, const char *path) {
    if (!pack_knows(path))
        return true;
    output->is_stream = true;
    output->pack = pack_open(path, write_fully, output);
    if (!output->pack)
        output_abandon(output);
    return output->path != NULL;
}

bool output_open(struct output *output, const char *path, mode_t mode) {
    *output = (struct output){
        .path = resolve_links(path), .descriptor = -1, .mode = mode & ~present_umask()};
    if (!output->path)
        return false;
    output->temporary = malloc(strlen(output->path) + NAME_SIZE);
    sigset_t before;
    signals_hold(&before);
    if (output->temporary)
        output->descriptor = create_temporary(output);
    int error = errno;
    if (output->descriptor >= 0) {
        signals_undo(remove_live);
        set_live(NULL, output);
    }
    signals_release(&before);
    if (output->descriptor < 0)
        forget_output(output);
    errno = error;
    return output->path && open_pack_as_named(output, path);
}

/* --- Direct outputs --- */

static bool is_pipe(const struct stat *status) {
    return S_ISFIFO(status->st_mode) || S_ISSOCK(status->st_mode);
}

/* Checks whether `path` is a name of standard output. A pipe is also recognised by other names,
   such as /dev/fd/1. */
bool output_is_stdout(const char *path) {
    struct stat status;
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0 ||
           (stat(path, &status) == 0 && is_pipe(&status) && leads_to(STDOUT_FILENO, &status));
}

bool output_is_direct(const char *path) {
    struct stat status;
    return output_is_stdout(path) ||
           (stat(path, &status) == 0 && (is_pipe(&status) || S_ISCHR(status.st_mode)));
}

const char *output_name(const char *path) {
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

static int open_direct_descriptor(const char *path, bool is_stdout) {
    return is_stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                     : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

/* Returns as an errno why no output can be written to a descriptor; 0 if it can. */
static int direct_errno(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status))
        return errno;
    if ((fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_RDONLY)
        return EBADF;
    if (isatty(descriptor))
        return ENOTTY;
    return !S_ISCHR(status.st_mode) && leads_to(STDERR_FILENO, &status) ? EBUSY : 0;
}

/* Finds where the output begins. Files can be rewritten, unless every write goes to their end. */
static void find_output_start(struct output *output) {
    const off_t start = lseek(output->descriptor, 0, SEEK_CUR);
    output->is_stream = start < 0 || (fcntl(output->descriptor, F_GETFL) & O_APPEND);
    output->start = output->is_stream ? 0 : (uint64_t)start;
}

bool output_open_direct(struct output *output, const char *path) {
    const bool is_stdout = output_is_stdout(path);
    *output = (struct output){.path = strdup(path),
                              .descriptor = open_direct_descriptor(path, is_stdout)};
    int problem = output->path && output->descriptor >= 0 ? 0 : errno;
    if (!problem)
        problem = direct_errno(output->descriptor);
    if (problem) {
        output_abandon(output);
        errno = problem;
        return false;
    }
    find_output_start(output);
    pipe_enlarge(output->descriptor);
    if (is_stdout)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return true;
}

/* --- Writing --- */

static void note_packed(struct output *output, int error) {
    if (!output->error)
        output->error = error;
}

void output_write(struct output *output, const void *bytes, size_t size) {
    if (!output->pack)
        write_fully(output, bytes, size);
    else if (!output->error)
        note_packed(output, pack_add(output->pack, bytes, size));
}

void output_rewrite(struct output *output, uint64_t offset, const void *bytes, size_t size) {
    const char *at = bytes;
    offset += output->start;
    while (size && !output->error) {
        ssize_t written = pwrite(output->descriptor, at, size, (off_t)offset);
        if (written < 0 && errno != EINTR)
            output->error = errno;
        if (written > 0) {
            at += written;
            offset += (uint64_t)written;
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

void output_restrict(struct output *output, mode_t mode) {
    output->mode &= mode | OWNER_MODE;
}

static void set_mode_and_name(struct output *output) {
    sigset_t before;
    signals_hold(&before);
    if (output->mode & ~OWNER_MODE)
        /* This may fail if the file system has no permissions. */
        fchmod(output->descriptor, output->mode);
    if (!output->error && !*output->temporary && make_name(output, link_unnamed))
        output->error = errno;
    signals_release(&before);
}

bool output_finish(struct output *output) {
    close_stream(output);
    if (output->pack && !output->error)
        note_packed(output, pack_end(output->pack));
    if (output->temporary)
        set_mode_and_name(output);
    close_descriptor(output);
    if (output->error)
        output_abandon(output);
    return !output->error;
}

/* Forgets a file that has appeared or was removed. */
static void settle_output(struct output *output) {
    sigset_t before;
    signals_hold(&before);
    set_live(output, NULL);
    forget_output(output);
    signals_release(&before);
}

bool output_publish(struct output *output) {
    if (output->temporary && rename(output->temporary, output->path)) {
        output->error = errno;
        output_abandon(output);
        return false;
    }
    settle_output(output);
    return true;
}

void output_abandon(struct output *output) {
    if (!output->path)
        return;
    close_stream(output);
    close_descriptor(output);
    if (output->temporary)
        unlink(output->temporary);
    settle_output(output);
}
