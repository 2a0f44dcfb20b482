/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target once on each file named: a replay that needs no libFuzzer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static int fail(const char *path) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return 1;
}

static int replay(const char *path) {
    uint8_t *data = NULL;
    long size = -1;
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail(path);
    if (fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    rewind(file);
    if (size >= 0)
        data = malloc((size_t)size + !size);
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
        free(data);
        fclose(file);
        return fail(path);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    printf("%s: ok\n", path);
    return 0;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    return failed;
}
