/* SPDX-License-Identifier: MIT */
/*
 * The ways in which a Linux process can write its own text, best first:
 *
 *   procmem   writes to /proc/self/mem, which ignores the protection of pages, keeps huge pages
 *             whole, and is allowed under PR_SET_MDWE, filters that forbid W^X changes, and mseal
 *   alias     moves pages to a memfd, mapped in their place and, writable, at a second address
 *   mprotect  makes pages writable while it writes; they stay executable, because other threads may
 *             run them during the write
 *
 * If other threads may run the text, all writers except "alias" write to copies of its pages,
 * unless pages cannot be exchanged: see exchange.c.
 *
 * A writer is trusted once the library has rewritten a function of its own, twice, and run the
 * result: emulators, and kernels configured to do so, accept writes that have no effect.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/hosted_patch.h"
#include "hosted/origin.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_EXEC /* since Linux 6.3 */
#define MFD_EXEC 0x0010U
#endif

typedef uint16_t unaligned_pair __attribute__((aligned(1), may_alias));
typedef uint32_t aligned_word __attribute__((may_alias));
typedef uint32_t unaligned_word __attribute__((aligned(1), may_alias));

/*
 * Writes text. A size of two bytes, or of an aligned word, is a guard, its replacement or an
 * instruction, and is written with one store. The store is a plain one: other writes of two bytes
 * may straddle a cache line, and a locked instruction that does so stalls all cores, or with some
 * kernels ends the program.
 */
static void store_text(uintptr_t address, const void *bytes, size_t size) {
    if (size == 2) {
        *(volatile unaligned_pair *)address = *(const unaligned_pair *)bytes;
        return;
    }
    if (size == 4 && address % 4 == 0) {
        *(volatile aligned_word *)address = *(const unaligned_word *)bytes;
        return;
    }
    for (size_t i = 0; i < size; i++)
        __atomic_store_n((uint8_t *)address + i, ((const uint8_t *)bytes)[i], __ATOMIC_RELEASE);
}

void carry_text_clean(uintptr_t address, size_t size) {
    __builtin___clear_cache((char *)address, (char *)address + size);
}

/* Closes nothing: for writers that stay ready for the next session. */
static void close_nothing(const struct carry_text_run *runs, size_t count) {
    (void)runs;
    (void)count;
}

/* --- A second mapping of the same pages --- */

struct alias {
    struct alias *next;
    struct carry_text_run run;
    uint8_t *writable;
    bool shared; /* with a child or the parent of this process */
};

static struct alias *aliases;

/* Returns the alias that contains an address, or NULL. Moves it to the front, because callers pass
 * addresses in order. */
static struct alias *alias_of(uintptr_t address) {
    for (struct alias **place = &aliases; *place; place = &(*place)->next) {
        struct alias *alias = *place;
        if (alias->run.low <= address && address < alias->run.high) {
            *place = alias->next;
            alias->next = aliases;
            aliases = alias;
            return alias;
        }
    }
    return NULL;
}

static bool runs_overlap(const struct carry_text_run *a, const struct carry_text_run *b) {
    return a->low < b->high && b->low < a->high;
}

/* Checks whether any of the pages is in an alias, or, if `shared`, in a shared one. */
static bool are_aliased(const struct carry_text_run *runs, size_t count, bool shared) {
    for (size_t i = 0; i < count; i++)
        for (const struct alias *alias = aliases; alias; alias = alias->next)
            if (runs_overlap(&alias->run, &runs[i]) && (alias->shared || !shared))
                return true;
    return false;
}

/* Returns a file: tries both kinds, because a system may be configured to refuse files with
 * MFD_EXEC, or files without it. */
int carry_text_file(void) {
    int fd = memfd_create("carry-text", MFD_CLOEXEC | MFD_EXEC);
    return fd < 0 ? memfd_create("carry-text", MFD_CLOEXEC) : fd;
}

/* Maps a copy of `text` at the run's address, and maps it again, writable, at another address.
 * Returns that other address, or NULL. */
static uint8_t *map_twice(const struct carry_text_run *run, const void *text) {
    size_t size = carry_text_run_bytes(run);
    uint8_t *writable = MAP_FAILED;
    void *place = MAP_FAILED;
    int fd = carry_text_file();
    if (fd < 0)
        return NULL;
    if (!ftruncate(fd, (off_t)size))
        writable = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (writable != MAP_FAILED) {
        memcpy(writable, text, size);
        place = mmap((void *)run->low, size, carry_origin_protection(run), MAP_SHARED | MAP_FIXED,
                     fd, 0);
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

/* Gives this process its own pages of an alias, before it writes to pages that another process
 * shares. Returns false on failure. */
static bool part_alias(struct alias *alias) {
    if (!alias->shared)
        return true;
    uint8_t *writable = map_twice(&alias->run, alias->writable);
    if (!writable)
        return false;
    munmap(alias->writable, carry_text_run_bytes(&alias->run));
    alias->writable = writable;
    alias->shared = false;
    return true;
}

/* Returns the start of the first alias between `low` and `high`, or `high`. */
static uintptr_t next_alias(uintptr_t low, uintptr_t high) {
    for (const struct alias *alias = aliases; alias; alias = alias->next)
        if (low < alias->run.low && alias->run.low < high)
            high = alias->run.low;
    return high;
}

/* Makes aliases for a run, which may overlap the runs of earlier commits in any way. Returns false
 * on failure. */
static bool alias_run(const struct carry_text_run *run) {
    struct carry_text_run part = *run;
    for (; part.low < run->high; part.low = part.high) {
        struct alias *known = alias_of(part.low);
        part.high = known ? known->run.high : next_alias(part.low, run->high);
        if (known ? !part_alias(known) : !make_alias(&part))
            return false;
    }
    return true;
}

static bool alias_open(const struct carry_text_run *runs, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!alias_run(&runs[i]))
            return false;
    return true;
}

/* Writes through aliases: a site may begin in one alias and end in the next. Returns true. */
static bool alias_write(uintptr_t address, const void *bytes, size_t size) {
    const uint8_t *from = bytes;
    while (size) {
        const struct alias *alias = alias_of(address);
        size_t here = alias->run.high - address < size ? alias->run.high - address : size;
        store_text((uintptr_t)alias->writable + (address - alias->run.low), from, here);
        carry_text_clean(address, here);
        address += here;
        from += here;
        size -= here;
    }
    return true;
}

/* --- /proc/self/mem --- */

static struct {
    int fd;
    pid_t pid; /* of the process that opened the file: in a child, the file still refers to the
                  parent */
    dev_t device;
    ino_t inode;
} memory = {.fd = -1};

/* Checks that the descriptor still refers to the library's file: the program may have closed all
 * descriptors, and opened another file with this number. */
static bool memory_is_open(void) {
    struct stat now;
    return memory.fd >= 0 && !fstat(memory.fd, &now) && now.st_dev == memory.device &&
           now.st_ino == memory.inode;
}

/* Closes the file, so that a forked child has no access to the memory of its parent. */
static void memory_close(void) {
    if (memory_is_open())
        close(memory.fd);
    memory.fd = -1;
}

/* Checks that the file shows the memory of this process: emulators may show their own, with other
 * contents at the same addresses. */
static bool memory_is_this(void) {
    unsigned char seen[sizeof memory];
    return pread(memory.fd, seen, sizeof seen, (off_t)(uintptr_t)&memory) == sizeof seen &&
           !memcmp(seen, &memory, sizeof seen);
}

bool carry_text_is_moved(const struct carry_text_run *runs, size_t count) {
    return are_aliased(runs, count, false);
}

/* Opens /proc/self/mem. Returns false on failure, or if a run is in an alias: the file cannot write
 * to shared read-only mappings. */
static bool memory_open(const struct carry_text_run *runs, size_t count) {
    if (are_aliased(runs, count, false))
        return false;
    if (memory.pid == getpid() && memory_is_open())
        return true;
    memory_close();
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    struct stat now;
    if (fd < 0 || fstat(fd, &now))
        return false;
    memory.fd = fd;
    memory.pid = getpid();
    memory.device = now.st_dev;
    memory.inode = now.st_ino;
    if (memory_is_this())
        return true;
    memory_close();
    return false;
}

/*
 * Returns how many bytes to write with one call. Linux copies a page at a time, starting at the
 * first byte. A long write is split at the first page boundary, so that each later copy touches one
 * page instead of two.
 */
static size_t first_write_bytes(uintptr_t address, size_t size) {
    const size_t bytes = carry_page_bytes();
    size_t page = bytes - address % bytes;
    return size > bytes && page < bytes ? page : size;
}

static bool memory_write(uintptr_t address, const void *bytes, size_t size) {
    const uint8_t *from = bytes;
    while (size) {
        ssize_t part = pwrite(memory.fd, from, first_write_bytes(address, size), (off_t)address);
        if (part <= 0)
            return false;
        address += (size_t)part;
        from += part;
        size -= (size_t)part;
    }
    return true;
}

/* --- mprotect --- */

/* Gives the pages of each run the protection with which their text was loaded, plus the rights
 * `added`. Returns false on failure. */
static bool protect_runs(const struct carry_text_run *runs, size_t count, int added) {
    for (size_t i = 0; i < count; i++)
        if (mprotect((void *)runs[i].low, carry_text_run_bytes(&runs[i]),
                     carry_origin_protection(&runs[i]) | added))
            return false;
    return true;
}

static bool mprotect_write(uintptr_t address, const void *bytes, size_t size) {
    store_text(address, bytes, size);
    carry_text_clean(address, size);
    return true;
}

static void mprotect_close(const struct carry_text_run *runs, size_t count) {
    protect_runs(runs, count, 0);
}

static bool mprotect_open(const struct carry_text_run *runs, size_t count) {
    if (are_aliased(runs, count, true))
        return false;
    if (protect_runs(runs, count, PROT_WRITE))
        return true;
    mprotect_close(runs, count);
    return false;
}

/* --- Unmapped text, and fork() --- */

void carry_text_forget(uintptr_t low, uintptr_t high) {
    const struct carry_text_run gone = {low, high};
    for (struct alias **place = &aliases; *place;) {
        struct alias *alias = *place;
        if (runs_overlap(&alias->run, &gone)) {
            *place = alias->next;
            munmap(alias->writable, carry_text_run_bytes(&alias->run));
            free(alias);
        } else {
            place = &alias->next;
        }
    }
}

void carry_text_after_fork(bool in_child) {
    for (struct alias *alias = aliases; alias; alias = alias->next)
        alias->shared = true;
    if (in_child)
        memory_close();
}

/* --- The choice of a writer --- */

static const struct carry_text_writer writers[] = {
    {"procmem", false, true, false, memory_open, memory_write, close_nothing},
    {"alias", true, false, false, alias_open, alias_write, close_nothing},
    {"mprotect", true, true, true, mprotect_open, mprotect_write, mprotect_close},
};
#define WRITERS (sizeof writers / sizeof *writers)

/*
 * Whether each writer works, as far as that is known. A working writer may be refused later, and
 * allowed again. A writer whose writes have no effect is never tried again: a second test might
 * succeed by chance.
 */
static enum known { UNKNOWN, WORKS, FAILS } known[WRITERS];

static const char *only; /* NULL: any writer may be chosen */

bool carry_text_choose(const char *name) {
    for (size_t i = 0; i < WRITERS && name; i++)
        if (!strcmp(name, writers[i].name)) {
            only = writers[i].name;
            return true;
        }
    if (!name)
        only = NULL;
    return !name;
}

/* Called through its address. Valgrind translates a direct call together with the function, so each
 * direct call would run text that was translated after the write. */
static uint8_t (*const volatile probe)(void) = carry_patch_probe;

bool carry_text_probe_returns(uint8_t value) {
    carry_ucontext_serialise();
    return probe() == value;
}

struct carry_text_run carry_text_probe_run(void) {
    uintptr_t page = (uintptr_t)carry_patch_probe_byte & ~(carry_page_bytes() - 1);
    return (struct carry_text_run){page, page + carry_page_bytes()};
}

/* Writes to the probe once. Returns whether that had an effect; UNKNOWN if the write was refused,
 * because later writes may be accepted. */
static enum known probe_write(const struct carry_text_writer *writer, uint8_t value) {
    if (!writer->write((uintptr_t)carry_patch_probe_byte, &value, 1))
        return UNKNOWN;
    return carry_text_probe_returns(value) ? WORKS : FAILS;
}

static void prove_writer(size_t index) {
    const struct carry_text_writer *writer = &writers[index];
    const struct carry_text_run run = carry_text_probe_run();
    if (!writer->open(&run, 1))
        return;
    known[index] = probe_write(writer, 2);
    if (known[index] == WORKS)
        known[index] = probe_write(writer, 1);
    writer->close(&run, 1);
}

static bool failed[WRITERS]; /* whether a write failed in the present commit */

void carry_text_note_failure(const struct carry_text_writer *writer) {
    failed[writer - writers] = true;
    known[writer - writers] = UNKNOWN;
}

void carry_text_forget_failures(void) {
    memset(failed, 0, sizeof failed);
}

static bool writer_does(const struct carry_text_writer *writer, enum carry_text_need need) {
    const bool in_pairs = need == CARRY_TEXT_IN_PAIRS || need == CARRY_TEXT_IN_PAIRS_IN_PLACE;
    const bool in_place = need == CARRY_TEXT_IN_PLACE || need == CARRY_TEXT_IN_PAIRS_IN_PLACE;
    return (!in_pairs || writer->writes_pairs) && (!in_place || writer->keeps_pages);
}

const struct carry_text_writer *carry_text_open(const struct carry_text_run *runs, size_t count,
                                                enum carry_text_need need) {
    for (size_t i = 0; i < WRITERS; i++) {
        if ((only && only != writers[i].name) || failed[i] || !writer_does(&writers[i], need))
            continue;
        if (known[i] == UNKNOWN)
            prove_writer(i);
        if (known[i] == WORKS && writers[i].open(runs, count))
            return &writers[i];
    }
    return NULL;
}
