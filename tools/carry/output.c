/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "progress.h"

#define OUTPUTS_MAX  2
#define NAMES_TO_TRY 1000
#define NAME_SIZE    64 /* room for ".carry-", two numbers and the end */

/* Signals that end a program by default, and come from outside or from writing. */
static const int fatal[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
#define FATAL_COUNT (sizeof fatal / sizeof *fatal)

/* What a signal is to remove: changed with those signals blocked. */
static struct output *volatile live[OUTPUTS_MAX];

static void on_fatal_signal(int signal) {
    for (size_t i = 0; i < OUTPUTS_MAX; i++)
        if (live[i])
            unlink(live[i]->temporary);
    progress_clear();
    raise(signal); /* SA_RESETHAND has put the default action back */
}

/* Signals that are ignored stay so: whoever started this in the background wants that. */
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_fatal_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction present;
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < FATAL_COUNT; i++)
        if (sigaction(fatal[i], NULL, &present) == 0 && present.sa_handler != SIG_IGN)
            sigaction(fatal[i], &action, NULL);
}

static void block_signals(sigset_t *before) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < FATAL_COUNT; i++)
        sigaddset(&set, fatal[i]);
    sigprocmask(SIG_BLOCK, &set, before);
}

static void set_live(const struct output *from, struct output *to) {
    for (size_t i = 0; i < OUTPUTS_MAX; i++)
        if (live[i] == from) {
            live[i] = to;
            return;
        }
}

/* The file that `path` names, behind all links; of one that does not exist, `path` itself. */
static char *resolve(const char *path) {
    struct stat status;
    if (stat(path, &status))
        return errno == ENOENT ? strdup(path) : NULL;
    if (!S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : EEXIST;
        return NULL;
    }
    return realpath(path, NULL);
}

/* Creates a file that nobody has, in the folder of `path`; its name is `size` bytes at `name`. */
static int create_beside(const char *path, mode_t mode, char *name, size_t size) {
    const char *slash = strrchr(path, '/');
    int folder_size = slash ? (int)(slash + 1 - path) : 0;
    int descriptor = -1;
    errno = EEXIST;
    for (int i = 0; i < NAMES_TO_TRY && descriptor < 0 && errno == EEXIST; i++) {
        snprintf(name, size, "%.*s.carry-%ld-%d", folder_size, path, (long)getpid(), i);
        descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }
    return descriptor;
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
    size_t size = strlen(output->path) + NAME_SIZE;
    output->temporary = malloc(size);
    sigset_t before;
    block_signals(&before);
    if (output->temporary)
        output->descriptor = create_beside(output->path, mode, output->temporary, size);
    int error = errno;
    if (output->descriptor >= 0) {
        catch_signals();
        set_live(NULL, output);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
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

bool output_finish(struct output *output) {
    if (close(output->descriptor) && !output->error)
        output->error = errno;
    output->descriptor = -1;
    if (output->error)
        output_abandon(output);
    return !output->error;
}

bool output_publish(struct output *output) {
    if (rename(output->temporary, output->path)) {
        output->error = errno;
        output_abandon(output);
        return false;
    }
    set_live(output, NULL);
    forget(output);
    return true;
}

void output_abandon(struct output *output) {
    if (!output->path)
        return;
    if (output->descriptor >= 0)
        close(output->descriptor);
    unlink(output->temporary);
    set_live(output, NULL);
    forget(output);
}
