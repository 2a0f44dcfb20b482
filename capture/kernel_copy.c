/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "kernel_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

/* FICLONE of linux/fs.h, a header that not every system has. */
#define CLONE_REQUEST _IOW(0x94, 9, int)

bool carry_kernel_clones(int descriptor) {
    static const uint32_t magics[] = {0x58465342 /* XFS */, 0x9123683e /* btrfs */};
    struct statfs status;
    bool clones = false;
    if (fstatfs(descriptor, &status) == 0)
        for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
            clones |= (uint32_t)status.f_type == magics[i];
    return clones;
}

bool carry_kernel_clone(int from, int to) {
    return ioctl(to, CLONE_REQUEST, from) == 0;
}

int64_t carry_kernel_copy(int from, uint64_t from_offset, int to, uint64_t to_offset, size_t size) {
    loff_t from_at = (loff_t)from_offset, to_at = (loff_t)to_offset;
    const ssize_t copied = copy_file_range(from, &from_at, to, &to_at, size, 0);
    return copied < 0 ? -errno : copied;
}

int carry_kernel_write(int to, uint64_t offset, const void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        const ssize_t put =
            pwrite(to, (const uint8_t *)bytes + done, size - done, (off_t)(offset + done));
        if (put < 0 && errno != EINTR)
            return -errno;
        done += put > 0 ? (size_t)put : 0;
    }
    return 0;
}
