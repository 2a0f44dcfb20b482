/* SPDX-License-Identifier: MIT */
/*
 * The ways in which a Linux process may write its own text, best first:
 *
 *   procmem   /proc/self/mem writes through whatever protection pages have, leaves huge pages
 *             whole, and is allowed under PR_SET_MDWE, filters that forbid W^X changes, and mseal
 *   alias     pages are moved to a memfd, mapped in their place and, writable, in another
 *   mprotect  pages are writable and executable for as long as it takes; threads run meanwhile, so
 *             they can never be writable alone
 *
 * A writer counts as working when the library has rewritten a function of its own, twice, and run
 * what it wrote: emulators, and kernels that were told to, accept writes that never arrive.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/patch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096)

/* Two bytes at once where they are alone: a guard, or what replaces it. */
static bool store(uintptr_t address, const void *bytes, size_t size) {
    if (size == 2) {
        uint16_t pair;
        memcpy(&pair, bytes, 2);
        __atomic_store((uint16_t *)address, &pair, __ATOMIC_SEQ_CST);
        return true;
    }
    for (size_t i = 0; i < size; i++)
        __atomic_store_n((uint8_t *)address + i, ((const uint8_t *)bytes)[i], __ATOMIC_RELEASE);
    return true;
}

/* For writers that leave everything in place for the next time. */
static void stay_open(const struct carry_text_run *runs, size_t count) {
    (void)runs;
    (void)count;
}

static size_t run_bytes(const struct carry_text_run *run) {
    return run->high - run->low;
}

/* --- /proc/self/mem --- */

static struct {
    int fd;
    pid_t pid; /* the file stays that of the process which opened it, also in a child */
    dev_t device;
    ino_t inode;
} memory = {.fd = -1};

/* The program may have closed all its files and opened others by the same number. */
static bool memory_is_ours(void) {
    struct stat now;
    return memory.fd >= 0 && memory.pid == getpid() && !fstat(memory.fd, &now) &&
           now.st_dev == memory.device && now.st_ino == memory.inode;
}

static bool memory_open(const struct carry_text_run *runs, size_t count) {
    (void)runs;
    (void)count;
    if (memory_is_ours())
        return true;
    struct stat now;
    memory.fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (memory.fd < 0 || fstat(memory.fd, &now))
        return false;
    memory.pid = getpid();
    memory.device = now.st_dev;
    memory.inode = now.st_ino;
    return true;
}

static bool memory_write(uintptr_t address, const void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t part =
            pwrite(memory.fd, (const uint8_t *)bytes + done, size - done, (off_t)(address + done));
        if (part <= 0)
            return false;
        done += (size_t)part;
    }
    return true;
}

/* --- A second mapping of the same pages --- */

struct alias {
    struct alias *next;
    struct carry_text_run run;
    uint8_t *writable;
    uint8_t *snapshot; /* while the process forks */
};

static struct alias *aliases;

static struct alias *alias_of(uintptr_t address) {
    struct alias *alias = aliases;
    while (alias && !(alias->run.low <= address && address < alias->run.high))
        alias = alias->next;
    return alias;
}

/* Maps `text` of the run's size in the run's place and, writable, somewhere else. */
static uint8_t *map_twice(const struct carry_text_run *run, const void *text) {
    size_t size = run_bytes(run);
    uint8_t *writable = MAP_FAILED;
    void *place = MAP_FAILED;
    int fd = memfd_create("carry-text", MFD_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (!ftruncate(fd, (off_t)size))
        writable = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (writable != MAP_FAILED) {
        memcpy(writable, text, size);
        place = mmap((void *)run->low, size, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0);
    }
    close(fd);
    if (place != MAP_FAILED)
        return writable;
    if (writable != MAP_FAILED)
        munmap(writable, size);
    return NULL;
}

static bool make_alias(const struct carry_text_run *run) {
    struct alias *alias = malloc(sizeof *alias);
    if (!alias)
        return false;
    uint8_t *writable = map_twice(run, (const void *)run->low);
    if (!writable) {
        free(alias);
        return false;
    }
    *alias = (struct alias){.next = aliases, .run = *run, .writable = writable};
    aliases = alias;
    return true;
}

/* One page at a time, so that runs of later commits may overlap those of earlier ones. */
static bool alias_open(const struct carry_text_run *runs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct carry_text_run rest = runs[i];
        while (rest.low < rest.high) {
            struct carry_text_run fresh = {rest.low, rest.low};
            while (fresh.high < rest.high && !alias_of(fresh.high))
                fresh.high += PAGE_BYTES;
            if (fresh.low < fresh.high && !make_alias(&fresh))
                return false;
            const struct alias *known = alias_of(fresh.high);
            rest.low = known && fresh.high < rest.high ? known->run.high : fresh.high;
        }
    }
    return true;
}

/* A site may begin at the end of one mapping and end in the next. */
static bool alias_write(uintptr_t address, const void *bytes, size_t size) {
    const uint8_t *from = bytes;
    while (size) {
        const struct alias *alias = alias_of(address);
        size_t here = alias->run.high - address < size ? alias->run.high - address : size;
        store((uintptr_t)alias->writable + (address - alias->run.low), from, here);
        address += here;
        from += here;
        size -= here;
    }
    return true;
}

/* A child must not see what its parent writes later: it gets pages of its own. */
void carry_text_before_fork(void) {
    for (struct alias *alias = aliases; alias; alias = alias->next) {
        size_t size = run_bytes(&alias->run);
        void *snapshot =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        alias->snapshot = snapshot == MAP_FAILED ? NULL : snapshot;
        if (alias->snapshot)
            memcpy(alias->snapshot, alias->writable, size);
    }
}

void carry_text_after_fork(bool in_child) {
    for (struct alias *alias = aliases; alias; alias = alias->next) {
        size_t size = run_bytes(&alias->run);
        if (in_child) {
            uint8_t *own = alias->snapshot ? map_twice(&alias->run, alias->snapshot) : NULL;
            if (!own)
                _exit(127); /* text that changes under a program's feet is no program */
            munmap(alias->writable, size);
            alias->writable = own;
        }
        if (alias->snapshot)
            munmap(alias->snapshot, size);
        alias->snapshot = NULL;
    }
}

/* --- mprotect --- */

static bool protect(const struct carry_text_run *runs, size_t count, int protection) {
    for (size_t i = 0; i < count; i++)
        if (mprotect((void *)runs[i].low, run_bytes(&runs[i]), protection))
            return false;
    return true;
}

static void mprotect_close(const struct carry_text_run *runs, size_t count) {
    protect(runs, count, PROT_READ | PROT_EXEC);
}

static bool mprotect_open(const struct carry_text_run *runs, size_t count) {
    if (protect(runs, count, PROT_READ | PROT_WRITE | PROT_EXEC))
        return true;
    mprotect_close(runs, count);
    return false;
}

/* --- The choice --- */

static const struct carry_text_writer writers[] = {
    {"procmem", false, memory_open, memory_write, stay_open},
    {"alias", true, alias_open, alias_write, stay_open},
    {"mprotect", true, mprotect_open, store, mprotect_close},
};
#define WRITERS (sizeof writers / sizeof *writers)

/* What is known of each writer; a writer that worked once may be refused later, or again work. */
static bool proven[WRITERS];

static const char *only; /* NULL: all may be tried */

void carry_text_only(const char *name) {
    only = name;
}

static bool runs_what_it_writes(const struct carry_text_writer *writer, uint8_t value) {
    uintptr_t address = (uintptr_t)carry_patch_probe_byte;
    if (!writer->write(address, &value, 1))
        return false;
    carry_context_serialise();
    return carry_patch_probe() == value;
}

static bool prove(const struct carry_text_writer *writer) {
    uintptr_t page = (uintptr_t)carry_patch_probe_byte & ~(PAGE_BYTES - 1);
    const struct carry_text_run run = {page, page + PAGE_BYTES};
    if (!writer->open(&run, 1))
        return false;
    bool works = runs_what_it_writes(writer, 2) && runs_what_it_writes(writer, 1);
    writer->close(&run, 1);
    return works;
}

const struct carry_text_writer *carry_text_open(const struct carry_text_run *runs, size_t count) {
    for (size_t i = 0; i < WRITERS; i++) {
        if (only && strcmp(only, writers[i].name))
            continue;
        proven[i] = proven[i] || prove(&writers[i]);
        if (proven[i] && writers[i].open(runs, count))
            return &writers[i];
    }
    return NULL;
}
