/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "check/fix_folder.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <carry/capture.h>

#include "check/folder.h"
#include "check/source.h"
#include "common/command.h"
#include "common/file_name.h"
#include "common/output.h"
#include "common/pack.h"

struct walk {
    struct fix_folder *folder;
    int status;
};

static void note_worst(struct walk *walk, int status) {
    walk->status = status_max(walk->status, status);
}

/* Recognises captures like carry check: by their first bytes, or by names with the extension of a
 * capture. A file that cannot be opened counts as a capture, so that the error is reported.
 * Unfinished outputs do not count. */
static bool is_capture(const char *path) {
    struct carry_capture *capture = source_open(path);
    const bool is = !capture || source_is_capture(capture) || file_name_is_capture(path);
    carry_capture_close(capture);
    return is && !output_is_unfinished(path);
}

/* Creates a folder of copies with the permissions of its folder of captures, so that no more users
   can enter it than that folder. */
static bool make_folder(const char *path, const char *from) {
    struct stat status;
    const mode_t mode = stat(from, &status) ? 0 : status.st_mode & 0777;
    return mkdir(path, mode | 0700) == 0 || errno == EEXIST;
}

/* Creates the folder named by the first `size` bytes of a path below the folder of copies. */
static bool make_below(const struct fix_folder *folder, const char *below, size_t size) {
    char *from = NULL, *to = NULL;
    const bool ok = asprintf(&from, "%s/%.*s", folder->input, (int)size, below) >= 0 &&
                    asprintf(&to, "%s/%.*s", folder->output, (int)size, below) >= 0 &&
                    make_folder(to, from);
    free(from);
    free(to);
    return ok;
}

static bool make_folders(const struct fix_folder *folder, const char *below) {
    for (const char *slash = strchr(below, '/'); slash; slash = strchr(slash + 1, '/'))
        if (!make_below(folder, below, (size_t)(slash - below)))
            return false;
    return true;
}

/* Checks whether `name` is another file, whose copy would not be compressed. */
static bool has_file(const char *name, const char *path) {
    struct stat status;
    return strcmp(name, path) != 0 && !pack_knows(name) && lstat(name, &status) == 0;
}

static bool has_packed(const char *plain, const char *ending, const char *path) {
    char *packed;
    if (asprintf(&packed, "%s.%s", plain, ending) < 0)
        return true;
    const bool has = has_file(packed, path);
    free(packed);
    return has;
}

/* Checks whether another file's copy would also get the name of `path` without the extension of its
   compression. */
static bool is_name_shared(const char *path) {
    char *plain = strndup(path, (size_t)(strrchr(path, '.') - path));
    bool has = !plain || has_file(plain, path);
    for (const char *const *ending = file_name_packings; *ending && !has; ending++)
        has = has_packed(plain, *ending, path);
    free(plain);
    return has;
}

static char *copy_path(const struct fix_folder *folder, const char *path, const char *below) {
    char *place;
    if (asprintf(&place, "%s/%s", folder->output, below) < 0)
        return NULL;
    if (file_name_is_packed(path) && !pack_knows(path) && !is_name_shared(path))
        *strrchr(place, '.') = 0;
    return place;
}

static int fix_into(const struct fix_folder *folder, const char *path) {
    const char *below = path + strlen(folder->input);
    below += strspn(below, "/");
    char *place = copy_path(folder, path, below);
    int status = output_check_name("fix", "output", place);
    if (status == STATUS_CLEAN && (!place || !make_folders(folder, below)))
        status = command_file_error(place ? place : path, strerror(errno));
    else if (status == STATUS_CLEAN)
        status = folder->fix(folder->context, path, place);
    free(place);
    return status;
}

static void fix_one(void *context, const char *path) {
    struct walk *walk = context;
    struct fix_folder *folder = walk->folder;
    if (command_output_failed())
        return;
    if (!is_capture(path)) {
        folder->skipped++;
        return;
    }
    folder->captures++;
    note_worst(walk,
               folder->output ? fix_into(folder, path) : folder->fix(folder->context, path, NULL));
}

static void note_unread(void *context, const char *path, int error) {
    note_worst(context, command_file_error(path, strerror(error)));
}

/* Checks whether `path`, which exists, is the folder `above` or below it. */
static bool is_below(const char *path, const struct stat *above) {
    struct stat at, parent;
    char *climb = realpath(path, NULL);
    bool is = false;
    while (climb && !is && stat(climb, &at) == 0) {
        is = output_is_same(&at, above);
        char *slash = strrchr(climb, '/');
        if (slash == climb || stat("/", &parent) || output_is_same(&at, &parent))
            break;
        *slash = 0;
    }
    free(climb);
    return is;
}

/* Checks like is_below() for a path that need not exist yet if its parent folder does. */
static bool would_be_below(const char *path, const struct stat *above) {
    struct stat status;
    if (stat(path, &status) == 0)
        return is_below(path, above);
    char *copy = strdup(path);
    const bool is = copy && is_below(dirname(copy), above);
    free(copy);
    return is;
}

/* Creates the folder for copies. It must not lie in the input folder, where the copies would be
   repaired again. */
static int open_output_folder(const struct fix_folder *folder) {
    struct stat input;
    if (stat(folder->input, &input))
        return command_file_error(folder->input, strerror(errno));
    if (would_be_below(folder->output, &input))
        return command_file_error(folder->output, "lies in the folder of the captures to repair");
    if (mkdir(folder->output, 0777) && errno != EEXIST)
        return command_file_error(folder->output, strerror(errno));
    if (!folder_is(folder->output))
        return command_file_error(folder->output, "is no folder, and the input is one");
    return STATUS_CLEAN;
}

int fix_folder(struct fix_folder *folder) {
    struct walk walk = {folder, STATUS_CLEAN};
    const struct folder_visitor visitor = {fix_one, note_unread, &walk};
    if (folder->output)
        walk.status = open_output_folder(folder);
    if (walk.status != STATUS_CLEAN)
        return walk.status;
    folder_walk(folder->input, &visitor);
    if (!folder->captures)
        note_worst(&walk, command_file_error(folder->input, "no captures in this folder"));
    return walk.status;
}
