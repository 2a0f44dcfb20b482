/* SPDX-License-Identifier: MIT */
/*
 * Tests the module as the first process of a virtual machine, and writes TAP to the console. Loads
 * the module with the program's arguments as parameters, reads its files, and unloads it. Then
 * loads it with wrong parameters, and once more to read the benchmark.
 *
 *     cc -O2 -static -Ix86_64 -o init init.c
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "registers.h" /* from the architecture's folder */

#define FILES "/sys/kernel/debug/carry/"

static unsigned points;

static void print_point(bool ok, const char *format, ...) {
    va_list arguments;
    printf("%sok %u ", ok ? "" : "not ", ++points);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
}

static void mount_all(void) {
    static const struct {
        const char *kind, *folder;
    } rows[] = {{"devtmpfs", "/dev"},
                {"proc", "/proc"},
                {"sysfs", "/sys"},
                {"debugfs", "/sys/kernel/debug"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mkdir(rows[i].folder, 0755);
        if (mount(rows[i].kind, rows[i].folder, rows[i].kind, 0, NULL))
            printf("Bail out! %s cannot be mounted: %s\n", rows[i].folder, strerror(errno));
    }
    int console = open("/dev/console", O_RDWR);
    for (int fd = 0; fd <= 2 && console >= 0; fd++)
        dup2(console, fd);
}

/* Loads the module. Returns 0 or an error number. */
static int insert_module(const char *parameters) {
    int file = open("/carry.ko", O_RDONLY);
    int error = syscall(SYS_finit_module, file, parameters, 0) ? errno : 0;
    close(file);
    return error;
}

static void load_module(const char *parameters) {
    int error = insert_module(parameters);
    print_point(!error, "carry.ko is loaded with \"%s\": %s", parameters, strerror(error));
}

static void unload_module(void) {
    bool unloaded = !syscall(SYS_delete_module, "carry", O_NONBLOCK);
    print_point(unloaded && access(FILES, F_OK), "the module is unloaded, and its files are gone");
}

/*
 * Prints a file of the module, indented. Checks that reading it keeps this process's vector
 * registers.
 */
static void show_file(const char *name) {
    static char text[1 << 16];
    struct registers before, after;
    size_t width = vector_bytes();
    char path[64];
    for (size_t i = 0; i < sizeof before; i++)
        ((unsigned char *)&before)[i] =
            (unsigned char)(i % sizeof before.bytes[0] < width ? i * 37 + 11 : 0);
    memset(&after, 0, sizeof after);

    snprintf(path, sizeof path, FILES "%s", name);
    int file = open(path, O_RDONLY);
    long size = file >= 0 ? read_with(file, text, sizeof text - 1, &before, &after) : -1;
    close(file);
    if (size < 0) {
        print_point(false, "%s can be read", name);
        return;
    }
    text[size] = '\0';
    printf("# %s\n", name);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        printf("    %s\n", line);
    print_point(!memcmp(&before, &after, sizeof before), "%s: vector registers are unchanged",
                name);
}

static void expect_module_refused(const char *parameters, int error) {
    bool refused = insert_module(parameters) == error;
    print_point(refused && access(FILES, F_OK), "carry.ko refuses \"%.40s\"", parameters);
}

/* Checks that an open file keeps the module loaded. */
static void expect_kept(void) {
    char byte;
    int file = open(FILES "kernels", O_RDONLY);
    bool kept = syscall(SYS_delete_module, "carry", O_NONBLOCK) && errno == EWOULDBLOCK;
    print_point(kept && read(file, &byte, 1) == 1,
                "the module stays loaded while one of its files is open");
    close(file);
}

int main(int count, char **arguments) {
    char parameters[1024] = "";
    char long_mask[300] = "mask=";
    mount_all();
    for (int i = 1; i < count; i++) {
        size_t used = strlen(parameters);
        snprintf(parameters + used, sizeof parameters - used, "%s ", arguments[i]);
    }
    while (strlen(long_mask) + sizeof "erms," <= sizeof long_mask)
        strcat(long_mask, "erms,");

    printf("TAP version 13\n");
    load_module(parameters);
    show_file("kernels");
    show_file("selftest");
    expect_kept();
    unload_module();
    expect_module_refused("sum=unheard-of", EINVAL);
    expect_module_refused("mask=unheard-of", EINVAL);
    expect_module_refused(long_mask, ENOSPC);
    expect_module_refused("threshold=x", EINVAL);
    load_module("threshold=0");
    show_file("bench");
    unload_module();
    printf("1..%u\n", points);
    fflush(stdout);
    reboot(RB_POWER_OFF);
    return 1;
}
