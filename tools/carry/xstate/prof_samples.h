/* SPDX-License-Identifier: MIT */
/*
 * Counts samples by object and offset in its file. Thus processes that map the same object share
 * its rows, and names are looked up once, at the end.
 */
#ifndef CARRY_TOOLS_PROF_SAMPLES_H
#define CARRY_TOOLS_PROF_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct samples_counts {
    uint64_t all;
    uint64_t dirty; /* AVX or ZMM_HI256 in use */
    uint64_t ymm;   /* AVX in use */
    uint64_t zmm;   /* ZMM_HI256 in use */
};

/* A mapped file, or memory without a file. */
struct samples_object {
    char *path;
    uint64_t device, inode;
    int file; /* -1 if there is none, or it cannot be opened */
};

struct samples_hit {
    struct samples_counts counts;
    uint64_t offset; /* in the file; 0 if there is no file */
    uint32_t object;
};

struct samples {
    struct samples_counts counts;
    uint64_t lost; /* samples without memory, a readable thread or an executable mapping */
    struct samples_object *objects;
    size_t objects_count;
    struct samples_hit *hits; /* a hash table; rows without samples are free */
    size_t hits_count, hits_capacity;
    struct samples_process *processes;
    size_t processes_count;
};

/* Takes a sample of a thread that is stopped. */
void samples_take(struct samples *samples, pid_t process, pid_t thread);

/* Drops the map of a process that has ended, or executes another program. */
void samples_forget(struct samples *samples, pid_t process);

void samples_free(struct samples *samples);

#endif
