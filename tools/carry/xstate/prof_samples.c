/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "xstate/prof_samples.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include <carry/xstate.h>

#include "common/process_map.h"

struct samples_process {
    pid_t process;
    struct process_map map;
    uint32_t *objects; /* the object of each mapping; NO_OBJECT unless it is executable */
};

/* --- Objects --- */

#define NO_OBJECT UINT32_MAX

static const char *path_of(const struct process_mapping *mapping) {
    return *mapping->path ? mapping->path : "(generated code)";
}

static uint32_t find_object(const struct samples *samples, const struct process_mapping *mapping) {
    for (size_t i = 0; i < samples->objects_count; i++) {
        const struct samples_object *object = &samples->objects[i];
        if (object->device == mapping->device && object->inode == mapping->inode &&
            strcmp(object->path, path_of(mapping)) == 0)
            return (uint32_t)i;
    }
    return NO_OBJECT;
}

/* Adds an object, and opens its file at once: its path may be gone when the process has ended. */
static uint32_t add_object(struct samples *samples, const struct process_mapping *mapping,
                           pid_t process) {
    size_t count = samples->objects_count;
    struct samples_object *grown = reallocarray(samples->objects, count + 1, sizeof *grown);
    if (!grown)
        return NO_OBJECT;
    samples->objects = grown;
    grown[count] = (struct samples_object){
        .path = strdup(path_of(mapping)), .device = mapping->device, .inode = mapping->inode};
    if (!grown[count].path)
        return NO_OBJECT;
    grown[count].file = mapping->inode ? process_map_open(mapping, process) : -1;
    samples->objects_count++;
    return (uint32_t)count;
}

static uint32_t object_of(struct samples *samples, const struct process_mapping *mapping,
                          pid_t process) {
    if (!mapping->executable)
        return NO_OBJECT;
    uint32_t object = find_object(samples, mapping);
    return object == NO_OBJECT ? add_object(samples, mapping, process) : object;
}

/* --- Processes --- */

static void clear_map(struct samples_process *process) {
    process_map_free(&process->map);
    free(process->objects);
    process->objects = NULL;
}

static bool read_map(struct samples *samples, struct samples_process *process) {
    clear_map(process);
    bool ok = process_map_read(&process->map, process->process);
    process->objects = calloc(process->map.count + 1, sizeof *process->objects);
    if (!process->objects)
        return false;
    for (size_t i = 0; i < process->map.count; i++)
        process->objects[i] = object_of(samples, &process->map.mappings[i], process->process);
    return ok;
}

static struct samples_process *find_process(struct samples *samples, pid_t process) {
    for (size_t i = 0; i < samples->processes_count; i++)
        if (samples->processes[i].process == process)
            return &samples->processes[i];
    struct samples_process *grown =
        reallocarray(samples->processes, samples->processes_count + 1, sizeof *grown);
    if (!grown)
        return NULL;
    samples->processes = grown;
    grown[samples->processes_count] = (struct samples_process){.process = process};
    return &grown[samples->processes_count++];
}

void samples_forget(struct samples *samples, pid_t process) {
    for (size_t i = 0; i < samples->processes_count; i++) {
        if (samples->processes[i].process != process)
            continue;
        clear_map(&samples->processes[i]);
        samples->processes[i] = samples->processes[--samples->processes_count];
        return;
    }
}

/* Returns the executable mapping at an address; reads the map again if it has no such mapping. */
static const struct process_mapping *
find_mapping(struct samples *samples, struct samples_process *process, uint64_t address) {
    const struct process_mapping *mapping = process_map_find(&process->map, address);
    if (mapping && mapping->executable)
        return mapping;
    if (!read_map(samples, process))
        return NULL;
    mapping = process_map_find(&process->map, address);
    return mapping && mapping->executable ? mapping : NULL;
}

/* --- Hits --- */

static size_t place_of_hit(const struct samples_hit *hits, size_t capacity, uint32_t object,
                           uint64_t offset) {
    size_t place = (size_t)((offset + object) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (;; place++) {
        const struct samples_hit *hit = &hits[place & (capacity - 1)];
        if (!hit->counts.all || (hit->object == object && hit->offset == offset))
            return place & (capacity - 1);
    }
}

static bool make_room(struct samples *samples) {
    if (2 * samples->hits_count < samples->hits_capacity)
        return true;
    size_t capacity = samples->hits_capacity ? 2 * samples->hits_capacity : 1024;
    struct samples_hit *hits = calloc(capacity, sizeof *hits);
    if (!hits)
        return false;
    for (size_t i = 0; i < samples->hits_capacity; i++) {
        const struct samples_hit *hit = &samples->hits[i];
        if (hit->counts.all)
            hits[place_of_hit(hits, capacity, hit->object, hit->offset)] = *hit;
    }
    free(samples->hits);
    samples->hits = hits;
    samples->hits_capacity = capacity;
    return true;
}

static void count_sample(struct samples_counts *counts, uint64_t in_use) {
    bool ymm = in_use & CARRY_XSTATE_BIT(AVX), zmm = in_use & CARRY_XSTATE_BIT(ZMM_HI256);
    counts->all++;
    counts->dirty += ymm || zmm;
    counts->ymm += ymm;
    counts->zmm += zmm;
}

static bool count_hit(struct samples *samples, uint32_t object, uint64_t offset, uint64_t in_use) {
    if (object == NO_OBJECT || !make_room(samples))
        return false;
    struct samples_hit *hit =
        &samples->hits[place_of_hit(samples->hits, samples->hits_capacity, object, offset)];
    samples->hits_count += !hit->counts.all;
    hit->object = object;
    hit->offset = offset;
    count_sample(&hit->counts, in_use);
    count_sample(&samples->counts, in_use);
    return true;
}

/* --- A sample --- */

/* Reads the components in use of a stopped thread, and its instruction pointer. */
static bool read_thread(pid_t thread, uint64_t *in_use, uint64_t *address) {
    unsigned char image[CARRY_XSTATE_EXTENDED];
    struct iovec vector = {.iov_base = image, .iov_len = sizeof image};
    errno = 0;
    *address = (uint64_t)ptrace(PTRACE_PEEKUSER, thread, offsetof(struct user, regs.rip), NULL);
    if (errno || ptrace(PTRACE_GETREGSET, thread, NT_X86_XSTATE, &vector) != 0 ||
        vector.iov_len < sizeof image)
        return false;
    memcpy(in_use, image + CARRY_XSTATE_LEGACY, sizeof *in_use);
    return true;
}

static bool sample_thread(struct samples *samples, pid_t process_number, pid_t thread) {
    uint64_t in_use, address;
    struct samples_process *process = find_process(samples, process_number);
    if (!process || !read_thread(thread, &in_use, &address))
        return false;
    const struct process_mapping *mapping = find_mapping(samples, process, address);
    if (!mapping)
        return false;
    uint32_t object = process->objects[mapping - process->map.mappings];
    uint64_t offset = mapping->inode ? mapping->offset + (address - mapping->start) : 0;
    return count_hit(samples, object, offset, in_use);
}

void samples_take(struct samples *samples, pid_t process, pid_t thread) {
    samples->lost += !sample_thread(samples, process, thread);
}

void samples_free(struct samples *samples) {
    while (samples->processes_count)
        samples_forget(samples, samples->processes[0].process);
    for (size_t i = 0; i < samples->objects_count; i++) {
        free(samples->objects[i].path);
        if (samples->objects[i].file >= 0)
            close(samples->objects[i].file);
    }
    free(samples->processes);
    free(samples->objects);
    free(samples->hits);
}
