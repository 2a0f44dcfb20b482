/* SPDX-License-Identifier: MIT */
/*
 * Exchange of pages. Text that threads run is written in copies of its pages. mremap() then puts
 * each copy in place while the page tables are locked: a thread that reaches the page waits in the
 * system for some microseconds, whatever signals it blocks, and no core runs a part of the change.
 *
 * Copies are mapped from the file of the text if it can be opened, so that profilers and
 * /proc/self/maps still show whose code it is. All bytes of a copy are written: the contents of the
 * file do not matter.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/hosted_patch.h"
#include "hosted/origin.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE /* since Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

/* Asks the system to prepare a page for writes, which changes no byte. Returns whether it did. */
static bool prepares_writes(uintptr_t page) {
    return !madvise((void *)page, carry_page_bytes(), MADV_POPULATE_WRITE);
}

/* Checks that the system agrees for writable pages and for no others. Older systems refuse all, and
 * emulators may agree for all. Asks at each commit, as a filter of system calls may be new. */
static bool tells_writable(void) {
    static uint8_t data;
    return prepares_writes((uintptr_t)&data & ~(carry_page_bytes() - 1)) &&
           !prepares_writes(carry_text_probe_run().low);
}

/* Has the system add 0 to a word of a page, which fails with EFAULT if the page is not writable. */
static bool accepts_addition(uintptr_t page) {
    const int add_nothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
    return syscall(SYS_futex, page, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, page, add_nothing) >=
               0 ||
           errno != EFAULT;
}

/*
 * Checks whether the program can write a page. Such a page may hold data, and a copy would miss
 * later changes. The addition takes four times as long as the advice, since the system runs into
 * the protection of the page. So it is used only where the advice says nothing.
 */
static bool is_writable(uintptr_t page, bool by_advice) {
    if (by_advice && prepares_writes(page))
        return true;
    return (!by_advice || errno != EINVAL) && accepts_addition(page);
}

static bool are_writable(const struct carry_text_run *runs, size_t count) {
    const bool by_advice = tells_writable();
    for (size_t i = 0; i < count; i++)
        for (uintptr_t page = runs[i].low; page < runs[i].high; page += carry_page_bytes())
            if (is_writable(page, by_advice))
                return true;
    return false;
}

/* --- Copies --- */

static struct copy {
    struct carry_text_run run;
    uint8_t *seen;   /* the bytes of the text when it was last read */
    uint8_t *wanted; /* the bytes that will replace them */
} * copies;
static struct carry_text_run *places; /* where the copies are mapped */
static size_t copy_count;
static size_t copy_last; /* the copy written last: addresses are in order */
static const struct carry_text_writer *writer;

/* Maps pages of a file. If that fails, because the file system was remounted noexec, for example,
 * maps anonymous pages. Returns MAP_FAILED if both fail. */
static void *map_pages(size_t size, int protection, int fd, off_t offset) {
    void *pages = MAP_FAILED;
    if (fd >= 0)
        pages = mmap(NULL, size, protection, MAP_PRIVATE, fd, offset);
    if (pages == MAP_FAILED)
        pages = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages;
}

static bool map_copy(const struct carry_text_run *run, const struct carry_text_origin *origin,
                     int fd, struct carry_text_run *place) {
    off_t offset = origin ? origin->offset + (off_t)(run->low - origin->pages.low) : 0;
    void *start = map_pages(carry_text_run_bytes(run), carry_origin_protection(run), fd, offset);
    if (start == MAP_FAILED)
        return false;
    *place =
        (struct carry_text_run){(uintptr_t)start, (uintptr_t)start + carry_text_run_bytes(run)};
    return true;
}

/* Maps a copy of each run. Returns false if one cannot be mapped; copy_count is then the number of
 * copies that are mapped. */
static bool map_copies(const struct carry_text_run *runs, size_t count) {
    const struct carry_text_origin *last = NULL;
    int fd = -1;
    bool ok = true;
    for (copy_count = 0; copy_count < count && ok;) {
        const struct carry_text_run *run = &runs[copy_count];
        const struct carry_text_origin *origin = carry_origin_of(run);
        if (origin != last) {
            if (fd >= 0)
                close(fd);
            fd = carry_origin_open(origin);
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

static bool read_pages(void) {
    for (size_t i = 0; i < copy_count; i++) {
        size_t size = carry_text_run_bytes(&places[i]);
        copies[i].seen = malloc(2 * size);
        if (!copies[i].seen)
            return false;
        copies[i].wanted = copies[i].seen + size;
        memcpy(copies[i].seen, (const void *)copies[i].run.low, size);
        memcpy(copies[i].wanted, copies[i].seen, size);
    }
    return true;
}

static void drop_copies(size_t from) {
    for (size_t i = from; i < copy_count; i++)
        munmap((void *)places[i].low, carry_text_run_bytes(&places[i]));
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
        if (writer && read_pages())
            return writer;
    }
    carry_exchange_drop();
    return NULL;
}

bool carry_exchange_write(uintptr_t address, const void *bytes, size_t size) {
    while (address < copies[copy_last].run.low || address >= copies[copy_last].run.high)
        copy_last = (copy_last + 1) % copy_count;
    memcpy(copies[copy_last].wanted + (address - copies[copy_last].run.low), bytes, size);
    return true;
}

/* --- Exchange --- */

static bool may_repeat; /* another process changed a site, or the writer failed */

/*
 * Applies to a copy the changes that another process, such as a debugger that sets breakpoints, has
 * made to the text since it was last read. Returns false if the commit changes the same bytes: the
 * debugger would later restore the old bytes.
 */
static bool take_over_changes(size_t i) {
    const uint8_t *text = (const uint8_t *)copies[i].run.low;
    struct copy *copy = &copies[i];
    for (size_t at = 0, size = carry_text_run_bytes(&places[i]); at < size; at++) {
        const uint8_t now = text[at];
        if (now == copy->seen[at])
            continue;
        if (copy->wanted[at] != copy->seen[at]) {
            may_repeat = true;
            return false;
        }
        copy->seen[at] = copy->wanted[at] = now;
    }
    return true;
}

static bool is_as_seen(size_t i) {
    return !memcmp((const void *)copies[i].run.low, copies[i].seen,
                   carry_text_run_bytes(&places[i]));
}

/* Sets the protection of a copy to its text's protection. Returns false if the system refuses. A
 * writer with `protects` cannot do this: it looks up the origin of text by its address, and the
 * address of a copy has no origin. */
static bool protect_as_text(size_t i) {
    return !mprotect((void *)places[i].low, carry_text_run_bytes(&places[i]),
                     carry_origin_protection(&copies[i].run));
}

static bool write_copy(size_t i) {
    if (!writer->write(places[i].low, copies[i].wanted, carry_text_run_bytes(&places[i]))) {
        carry_text_note_failure(writer);
        may_repeat = true;
        return false;
    }
    writer->close(&places[i], 1);
    return !writer->protects || protect_as_text(i);
}

/* Writes all copies before the first is put in place, so that a failure changes nothing. Returns
 * false on failure. */
static bool write_copies(void) {
    bool ok = true;
    for (size_t i = 0; i < copy_count && ok; i++)
        ok = write_copy(i);
    return ok;
}

/* The maximum number of times that catch_up() reads a page that keeps changing. */
#define LOOKS_MAX 100

/*
 * Updates a copy until the page has not changed since it was copied. Only the system call that puts
 * the copy in place then remains. Returns false if the copy cannot be updated, or the page keeps
 * changing.
 */
static bool catch_up(size_t i) {
    for (unsigned look = 0; look < LOOKS_MAX; look++) {
        if (is_as_seen(i))
            return true;
        if (!take_over_changes(i) || !writer->open(&places[i], 1) || !write_copy(i))
            return false;
    }
    return false;
}

static bool put_in_place(size_t i) {
    size_t size = carry_text_run_bytes(&places[i]);
    if (!catch_up(i) || mremap((void *)places[i].low, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
                               (void *)copies[i].run.low) == MAP_FAILED)
        return false;
    carry_text_clean(copies[i].run.low, size);
    return true;
}

/* Puts copies in place up to the first failure, and drops the other copies. Returns the number of
 * copies in place. */
static size_t put_all_in_place(void) {
    size_t done = 0;
    may_repeat = false;
    if (write_copies())
        while (done < copy_count && put_in_place(done))
            done++;
    drop_copies(done);
    return done;
}

/* Writes the old bytes to a new copy, wherever the commit had changed them. */
static void want_old_bytes(const struct copy *old, size_t size) {
    for (size_t at = 0; at < size; at++)
        if (old->wanted[at] != old->seen[at])
            carry_exchange_write(old->run.low + at, &old->seen[at], 1);
}

/* Reverts the first `count` exchanges by exchanging these pages again, with the old bytes. Returns
 * whether all were reverted. */
static bool put_back(size_t count) {
    struct copy *const old = copies;
    struct carry_text_run *const runs = places;
    const size_t old_count = copy_count;
    for (size_t i = 0; i < count; i++)
        runs[i] = old[i].run;
    bool ok = make_copies(runs, count);
    for (size_t i = 0; i < count && ok; i++)
        want_old_bytes(&old[i], carry_text_run_bytes(&old[i].run));
    if (ok) {
        ok = put_all_in_place() == count;
        release_copies();
    }
    copies = old;
    places = runs;
    copy_count = old_count;
    return ok;
}

enum carry_exchange carry_exchange_close(void) {
    const size_t done = put_all_in_place();
    const bool again = may_repeat;
    enum carry_exchange result = CARRY_EXCHANGED_ALL;
    if (done < copy_count && done && !put_back(done))
        result = CARRY_EXCHANGED_SOME;
    else if (done < copy_count)
        result = again ? CARRY_EXCHANGED_AGAIN : CARRY_EXCHANGED_NONE;
    release_copies();
    return result;
}

enum known { UNKNOWN, WORKS, FAILS };

/* Exchanges the probe's page once. Returns whether that had an effect; UNKNOWN if the exchange was
 * refused, because a later exchange may work. */
static enum known exchange_probe(uint8_t value) {
    const struct carry_text_run run = carry_text_probe_run();
    enum carry_exchange result = CARRY_EXCHANGED_AGAIN;
    while (result == CARRY_EXCHANGED_AGAIN) {
        if (!make_copies(&run, 1))
            return UNKNOWN;
        carry_exchange_write((uintptr_t)carry_patch_probe_byte, &value, 1);
        result = carry_exchange_close();
    }
    if (result != CARRY_EXCHANGED_ALL)
        return UNKNOWN;
    return carry_text_probe_returns(value) ? WORKS : FAILS;
}

/* Checks that cores run exchanged pages: an emulator may run what it read before the exchange. */
static bool exchange_works(void) {
    static enum known there, back;
    if (there == UNKNOWN)
        there = exchange_probe(2);
    if (there == WORKS && back == UNKNOWN)
        back = exchange_probe(1);
    return there == WORKS && back == WORKS;
}

const struct carry_text_writer *carry_exchange_open(const struct carry_text_run *runs,
                                                    size_t count) {
    if (carry_text_is_moved(runs, count) || are_writable(runs, count) || !exchange_works())
        return NULL;
    return make_copies(runs, count);
}
