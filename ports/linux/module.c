/* SPDX-License-Identifier: MIT */
/* Defines the module's parameters, its debugfs files, its initialisation and its exit. */
#define pr_fmt(text) KBUILD_MODNAME ": " text

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "carry_module.h"

static char *sum = "", *copy = "", *crc32c = "";
module_param(sum, charp, 0444);
MODULE_PARM_DESC(sum,
                 "kernel of sums, from the list in debugfs carry/kernels (default: the best); adc "
                 "replaces kernels without vectors");
module_param(copy, charp, 0444);
MODULE_PARM_DESC(copy, "kernel of copies (default: the best); Linux's memcpy() replaces kernels "
                       "without vectors");
module_param(crc32c, charp, 0444);
MODULE_PARM_DESC(crc32c, "kernel of CRC32c (default: the best)");

static long threshold = -1;
module_param(threshold, long, 0444);
MODULE_PARM_DESC(threshold,
                 "least size in bytes for which vectors are used (default: -1, measured)");

static struct dentry *folder;

/* Room for a whole file: if the buffer were too small, seq_file would call the show function again.
 */
#define SHOWN_BYTES (64 << 10)

#define FILE_THAT_SHOWS(name)                                                                      \
    static int name##_open(struct inode *inode, struct file *file) {                               \
        return single_open_size(file, carry_##name##_show, NULL, SHOWN_BYTES);                     \
    }                                                                                              \
    static const struct file_operations name##_fops = {                                            \
        .owner = THIS_MODULE,                                                                      \
        .open = name##_open,                                                                       \
        .read = seq_read,                                                                          \
        .llseek = seq_lseek,                                                                       \
        .release = single_release,                                                                 \
    }

FILE_THAT_SHOWS(bench);
FILE_THAT_SHOWS(kernels);
FILE_THAT_SHOWS(selftest);

static int __init carry_init(void) {
    int error = carry_choose(sum, copy, crc32c);

    if (error)
        return error;
    if (threshold >= 0)
        carry_set_thresholds(threshold);
    else
        error = carry_measure_thresholds();
    if (error)
        return error;

    folder = debugfs_create_dir("carry", NULL);
    debugfs_create_file("bench", 0400, folder, NULL, &bench_fops);
    debugfs_create_file("kernels", 0444, folder, NULL, &kernels_fops);
    debugfs_create_file("selftest", 0400, folder, NULL, &selftest_fops);
    pr_info("sums by %s, copies by %s, CRC32c by %s\n", carry_choices[CARRY_SUMS].name,
            carry_choices[CARRY_COPIES].name, carry_choices[CARRY_CRCS].name);
    return 0;
}

static void __exit carry_exit(void) {
    debugfs_remove(folder);
}

module_init(carry_init);
module_exit(carry_exit);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Internet checksums, and copies that survive faults");
MODULE_VERSION(CARRY_VERSION_TEXT);
