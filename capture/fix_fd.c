/* SPDX-License-Identifier: MIT */
/* Repairs captures into files. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copier.h"
#include "kernel_copy.h"

/* A file that gets every byte. */
struct target {
    int descriptor;
    uint64_t end;
};

static int append_to_target(void *user, const void *bytes, size_t size) {
    struct target *target = user;
    const int result = carry_kernel_write(target->descriptor, target->end, bytes, size);
    target->end += size;
    return result;
}

static int overwrite_in_target(void *user, uint64_t offset, const void *bytes, size_t size) {
    return carry_kernel_write(((const struct target *)user)->descriptor, offset, bytes, size);
}

static bool is_new_file(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && !status.st_size &&
           (fcntl(descriptor, F_GETFL) & (O_ACCMODE | O_APPEND)) == O_RDWR;
}

int carry_capture_fix_fd(struct carry_capture *capture,
                         const struct carry_capture_fix_options *options, int descriptor,
                         struct carry_capture_repairs **repairs) {
    struct target target = {.descriptor = descriptor};
    struct copier *copier =
        is_new_file(descriptor) ? carry_copier_begin(capture, descriptor) : NULL;
    const struct carry_capture_sink nowhere = {0};
    const struct carry_capture_sink copy = {.rewrite = carry_copier_rewrite, .user = copier};
    const struct carry_capture_sink whole = {
        .write = append_to_target, .rewrite = overwrite_in_target, .user = &target};
    const struct carry_capture_sink *sink = copier                    ? &copy
                                            : is_new_file(descriptor) ? &whole
                                                                      : &nowhere;
    const int code = carry_capture_fix(capture, options, sink, repairs);
    return copier ? carry_copier_end(copier, code) : code;
}
