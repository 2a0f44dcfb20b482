/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without libFuzzer, for any compiler and any architecture: once on each given
 * file, and on each file of a given folder. With -m COUNT, also runs it on COUNT mutations of each
 * file, which are the same in every run with the same files in the same order.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "mutate.h"

#define INPUT_BYTES_MAX 8192

struct bytes {
    uint8_t *data;
    size_t size;
};

static unsigned long rounds;

/* Replaces libFuzzer's function: changes one byte. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max) {
    static struct edit edit;
    (void)max;
    if (size)
        data[edit_random(&edit, size)] = (uint8_t)edit_random(&edit, 256);
    return size;
}

static bool read_all(FILE *file, struct bytes *bytes) {
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    rewind(file);
    bytes->data = size >= 0 ? malloc((size_t)size + 1) : NULL;
    bytes->size = bytes->data ? (size_t)size : 0;
    return bytes->data && fread(bytes->data, 1, bytes->size, file) == bytes->size;
}

/* Runs the target on a copy of the data, in memory of exactly their size, as libFuzzer does. */
static void run_target(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + !size);
    REQUIRE(copy);
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* Runs the target on mutations: each is made from the previous mutation, every eighth from the
   original. */
static void run_mutations(const struct bytes *bytes) {
    static uint8_t data[INPUT_BYTES_MAX];
    size_t first = bytes->size < sizeof data ? bytes->size : sizeof data, size = 0;
    for (unsigned long i = 0; i < rounds; i++) {
        if (i % 8 == 0)
            memcpy(data, bytes->data, size = first);
        size = LLVMFuzzerCustomMutator(data, size, sizeof data, (unsigned)i);
        run_target(data, size);
    }
}

/* Runs the target on a file and its mutations; returns false if the file could not be read. A
   failed check ends the program. */
static bool replay_file(const char *path) {
    struct bytes bytes = {0};
    FILE *file = fopen(path, "rb");
    bool done = file && read_all(file, &bytes);
    if (done) {
        run_target(bytes.data, bytes.size);
        run_mutations(&bytes);
        printf("%s: ok\n", path);
    } else {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    }
    free(bytes.data);
    if (file)
        fclose(file);
    return done;
}

static bool replay_path(const char *path) {
    char inside[4096];
    DIR *folder = opendir(path);
    if (!folder)
        return replay_file(path);
    bool done = true;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            done &= replay_file(inside);
    }
    closedir(folder);
    return done;
}

int main(int argc, char **argv) {
    bool done = true;
    int i = 1;
    if (argc > 2 && strcmp(argv[1], "-m") == 0) {
        rounds = strtoul(argv[2], NULL, 10);
        i = 3;
    }
    for (; i < argc; i++)
        done &= replay_path(argv[i]);
    return !done;
}
