/* SPDX-License-Identifier: MIT */
/*
 * Text that threads run is written in copies of its pages. mremap() then puts each copy in the
 * place of its pages while page tables are locked: a thread that comes by waits in the system for
 * some microseconds, with whatever signals it blocks, and no core runs a part of what changed.
 *
 * Copies are mapped from the same file as the text, where that can be opened, so that profilers and
 * /proc/self/maps still know whose code it is. All of their bytes are written: what the file holds
 * does not matter.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/patch.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- Whose text it is --- */

#define HEAD_BYTES 1024

/* The pages of a segment of an object, and its file. */
struct carry_text_origin {
    struct carry_text_origin *next;
    uintptr_t address; /* that it was asked for */
    struct carry_text_run pages;
    off_t offset;        /* of the first page in the file */
    off_t end;           /* of the segment in the file */
    char *name;          /* NULL if there is no file */
    unsigned head_bytes; /* the first bytes of the file, as loaded; 0 if they are not */
    unsigned char head[HEAD_BYTES];
};

static struct carry_text_origin *origins;

static void note_pages(struct carry_text_origin *origin, uintptr_t low, const ElfW(Phdr) * part) {
    const uintptr_t inside = carry_page_bytes() - 1;
    size_t before = low & inside;
    origin->pages.low = low - before;
    origin->pages.high = (low + part->p_filesz + inside) & ~inside;
    origin->offset = (off_t)(part->p_offset - before);
    origin->end = (off_t)(part->p_offset + part->p_filesz);
}

/* The head of an object tells it from others: it holds the build ID. */
static void note_head(struct carry_text_origin *origin, uintptr_t low, const ElfW(Phdr) * part) {
    origin->head_bytes = part->p_filesz < HEAD_BYTES ? (unsigned)part->p_filesz : HEAD_BYTES;
    memcpy(origin->head, (const void *)low, origin->head_bytes);
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *data) {
    struct carry_text_origin *origin = data;
    const ElfW(Phdr) *first = NULL;
    bool found = false;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        if (!part->p_offset && part->p_flags & PF_R)
            first = part;
        if (origin->address >= (low & ~(carry_page_bytes() - 1)) &&
            origin->address < low + part->p_filesz) {
            note_pages(origin, low, part);
            found = true;
        }
    }
    if (!found)
        return false;
    if (first)
        note_head(origin, info->dlpi_addr + first->p_vaddr, first);
    origin->name = strdup(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
    return true;
}

static void free_origin(struct carry_text_origin *origin) {
    free(origin->name);
    free(origin);
}

struct carry_text_origin *carry_exchange_look_up(uintptr_t address) {
    struct carry_text_origin *origin = calloc(1, sizeof *origin);
    if (!origin)
        return NULL;
    origin->address = address;
    if (dl_iterate_phdr(look_at_object, origin) && origin->name && origin->head_bytes)
        return origin;
    free_origin(origin);
    return NULL;
}

void carry_exchange_forget(uintptr_t low, uintptr_t high) {
    for (struct carry_text_origin **place = &origins; *place;) {
        struct carry_text_origin *origin = *place;
        if (origin->pages.low < high && low < origin->pages.high) {
            *place = origin->next;
            free_origin(origin);
        } else {
            place = &origin->next;
        }
    }
}

void carry_exchange_note(struct carry_text_origin *origin) {
    carry_exchange_forget(origin->pages.low, origin->pages.high);
    origin->next = origins;
    origins = origin;
}

static const struct carry_text_origin *origin_of(const struct carry_text_run *run) {
    const struct carry_text_origin *origin = origins;
    while (origin && (run->low < origin->pages.low || run->high > origin->pages.high))
        origin = origin->next;
    return origin;
}

/* Another file may have come by this name since, or the same one may be shorter now. */
static bool is_as_loaded(int fd, const struct carry_text_origin *origin) {
    unsigned char head[HEAD_BYTES];
    struct stat now;
    return !fstat(fd, &now) && now.st_size >= origin->end &&
           pread(fd, head, origin->head_bytes, 0) == (ssize_t)origin->head_bytes &&
           !memcmp(head, origin->head, origin->head_bytes);
}

/* Negative if there is no file, or none that may be opened. */
static int open_origin(const struct carry_text_origin *origin) {
    int fd = origin ? open(origin->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
    if (fd < 0 || is_as_loaded(fd, origin))
        return fd;
    close(fd);
    return -1;
}

/*
 * May the program write these pages? They may hold its data, which a copy would not follow. Asked
 * by a change that is none, made by the system: it refuses where the program may not.
 */
static bool is_writable(uintptr_t page) {
    const int add_nothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
    return syscall(SYS_futex, page, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, page, add_nothing) >=
               0 ||
           errno != EFAULT;
}

static bool are_writable(const struct carry_text_run *runs, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (uintptr_t page = runs[i].low; page < runs[i].high; page += carry_page_bytes())
            if (is_writable(page))
                return true;
    return false;
}

/* --- Copies --- */

static struct copy {
    struct carry_text_run run;
    uint8_t *seen; /* its bytes when they were copied */
} * copies;
static struct carry_text_run *places; /* of the copies */
static size_t copy_count;
static size_t copy_last; /* that was asked for: addresses come in order */
static const struct carry_text_writer *writer;

static size_t run_bytes(const struct carry_text_run *run) {
    return run->high - run->low;
}

/* Files may no longer be executed: their system may have been mounted anew. */
static void *map_pages(size_t size, int fd, off_t offset) {
    void *pages = MAP_FAILED;
    if (fd >= 0)
        pages = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, offset);
    if (pages == MAP_FAILED)
        pages = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages;
}

static bool map_copy(const struct carry_text_run *run, const struct carry_text_origin *origin,
                     int fd, struct carry_text_run *place) {
    off_t offset = origin ? origin->offset + (off_t)(run->low - origin->pages.low) : 0;
    void *start = map_pages(run_bytes(run), fd, offset);
    if (start == MAP_FAILED)
        return false;
    *place = (struct carry_text_run){(uintptr_t)start, (uintptr_t)start + run_bytes(run)};
    return true;
}

/* False if not all could be; copy_count tells how many are. */
static bool map_copies(const struct carry_text_run *runs, size_t count) {
    const struct carry_text_origin *last = NULL;
    int fd = -1;
    bool ok = true;
    for (copy_count = 0; copy_count < count && ok;) {
        const struct carry_text_run *run = &runs[copy_count];
        const struct carry_text_origin *origin = origin_of(run);
        if (origin != last) {
            if (fd >= 0)
                close(fd);
            fd = open_origin(origin);
            last = origin;
        }
        ok = map_copy(run, origin, fd, &places[copy_count]);
        if (ok)
            copies[copy_count++] = (struct copy){.run = *run};
    }
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool fill_copies(void) {
    for (size_t i = 0; i < copy_count; i++) {
        size_t size = run_bytes(&places[i]);
        copies[i].seen = malloc(size);
        if (!copies[i].seen)
            return false;
        memcpy(copies[i].seen, (const void *)copies[i].run.low, size);
        if (!writer->write(places[i].low, copies[i].seen, size))
            return false;
    }
    return true;
}

static void drop_copies(size_t from) {
    for (size_t i = from; i < copy_count; i++)
        munmap((void *)places[i].low, run_bytes(&places[i]));
}

static void release_copies(void) {
    for (size_t i = 0; i < copy_count; i++)
        free(copies[i].seen);
    free(copies);
    free(places);
    copies = NULL;
    places = NULL;
    copy_count = 0;
}

void carry_exchange_drop(void) {
    drop_copies(0);
    release_copies();
}

static const struct carry_text_writer *make_copies(const struct carry_text_run *runs,
                                                   size_t count) {
    copies = calloc(count, sizeof *copies);
    places = calloc(count, sizeof *places);
    copy_count = 0;
    copy_last = 0;
    if (copies && places && map_copies(runs, count)) {
        writer = carry_text_open(places, count, CARRY_TEXT_IN_PLACE);
        if (writer && fill_copies())
            return writer;
    }
    carry_exchange_drop();
    return NULL;
}

bool carry_exchange_write(uintptr_t address, const void *bytes, size_t size) {
    while (address < copies[copy_last].run.low || address >= copies[copy_last].run.high)
        copy_last = (copy_last + 1) % copy_count;
    uintptr_t place = places[copy_last].low + (address - copies[copy_last].run.low);
    return writer->write(place, bytes, size);
}

/* --- Exchange --- */

/*
 * What somebody else has changed meanwhile, as debuggers set breakpoints. They have microseconds
 * for it in place of the whole commit; what comes in these is lost.
 */
static bool catch_up(size_t i) {
    const uint8_t *text = (const uint8_t *)copies[i].run.low;
    bool ok = true;
    for (size_t at = 0, size = run_bytes(&places[i]); ok && at < size; at++)
        if (text[at] != copies[i].seen[at]) {
            copies[i].seen[at] = text[at];
            ok = writer->write(places[i].low + at, &copies[i].seen[at], 1);
        }
    return ok;
}

static bool is_as_copied(size_t i) {
    return !memcmp((const void *)copies[i].run.low, copies[i].seen, run_bytes(&places[i]));
}

static bool put_in_place(size_t i) {
    size_t size = run_bytes(&places[i]);
    if (!is_as_copied(i) && !catch_up(i))
        return false;
    writer->close(&places[i], 1);
    if (mremap((void *)places[i].low, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
               (void *)copies[i].run.low) == MAP_FAILED)
        return false;
    carry_text_clean(copies[i].run.low, size);
    return true;
}

/* The first ones; returns how many. */
static size_t put_in_places(void) {
    size_t done = 0;
    while (done < copy_count && put_in_place(done))
        done++;
    drop_copies(done);
    return done;
}

/* The first of them are exchanged once more, for what was there before. */
static bool put_back(size_t count) {
    struct copy *const old = copies;
    struct carry_text_run *const runs = places;
    const size_t old_count = copy_count;
    for (size_t i = 0; i < count; i++)
        runs[i] = old[i].run;
    bool ok = make_copies(runs, count);
    for (size_t i = 0; i < count && ok; i++)
        ok = carry_exchange_write(runs[i].low, old[i].seen, run_bytes(&runs[i]));
    if (ok)
        ok = put_in_places() == count;
    else
        drop_copies(0);
    release_copies();
    copies = old;
    places = runs;
    copy_count = old_count;
    return ok;
}

enum carry_exchange carry_exchange_close(void) {
    const size_t done = put_in_places();
    enum carry_exchange result = CARRY_EXCHANGED_ALL;
    if (done < copy_count)
        result = !done || put_back(done) ? CARRY_EXCHANGED_NONE : CARRY_EXCHANGED_SOME;
    release_copies();
    return result;
}

enum known { UNKNOWN, WORKS, FAILS };

/* What the system refuses now it may allow later, and then it is not known what comes of it. */
static enum known exchange_probe(uint8_t value) {
    const struct carry_text_run run = carry_text_probe_run();
    if (!make_copies(&run, 1))
        return UNKNOWN;
    if (!carry_exchange_write((uintptr_t)carry_patch_probe_byte, &value, 1)) {
        carry_exchange_drop();
        return UNKNOWN;
    }
    if (carry_exchange_close() != CARRY_EXCHANGED_ALL)
        return UNKNOWN;
    return carry_text_probe_returns(value) ? WORKS : FAILS;
}

/* Is a page run that was put in place of another? Emulators may run what they read before. */
static bool works(void) {
    static enum known there, back;
    if (there == UNKNOWN)
        there = exchange_probe(2);
    if (there == WORKS && back == UNKNOWN)
        back = exchange_probe(1);
    return there == WORKS && back == WORKS;
}

const struct carry_text_writer *carry_exchange_open(const struct carry_text_run *runs,
                                                    size_t count) {
    if (carry_text_is_moved(runs, count) || are_writable(runs, count) || !works())
        return NULL;
    return make_copies(runs, count);
}
