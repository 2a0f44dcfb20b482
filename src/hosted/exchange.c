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

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- Whose text it is --- */

#define PAGE_BYTES UINT64_C(4096)

/* The pages of a segment of an object, and its file. */
struct origin {
    uintptr_t low;
    uintptr_t high;
    off_t offset; /* of `low` in the file */
    int fd;       /* negative if it cannot be opened */
};

struct search {
    uintptr_t address;
    struct origin found;
    const char *name;
    const void *head; /* the first bytes of the file, as loaded; NULL if they are not */
    size_t head_size;
};

static struct origin pages_of(uintptr_t low, size_t size, size_t offset) {
    size_t before = low % PAGE_BYTES;
    return (struct origin){
        .low = low - before,
        .high = (low + size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1),
        .offset = (off_t)(offset - before),
        .fd = -1,
    };
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *data) {
    struct search *search = data;
    bool found = false;
    (void)size;
    search->head = NULL;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        if (!part->p_offset) {
            search->head = (const void *)low;
            search->head_size = part->p_filesz;
        }
        if (search->address >= (low & ~(PAGE_BYTES - 1)) &&
            search->address < low + part->p_filesz) {
            search->found = pages_of(low, part->p_filesz, part->p_offset);
            search->name = info->dlpi_name;
            found = true;
        }
    }
    return found;
}

/* Another file may have come by this name since: an object's first bytes hold its build ID. */
static bool begins_as_loaded(int fd, const struct search *search) {
    unsigned char head[1024];
    size_t size = search->head_size < sizeof head ? search->head_size : sizeof head;
    return search->head && pread(fd, head, size, 0) == (ssize_t)size &&
           !memcmp(head, search->head, size);
}

/* Nothing is found of text that no object has. */
static struct origin origin_of(uintptr_t address) {
    struct search search = {.address = address, .found = {address, address, 0, -1}};
    if (!dl_iterate_phdr(look_at_object, &search))
        return search.found;
    const char *name = search.name[0] ? search.name : "/proc/self/exe";
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && begins_as_loaded(fd, &search))
        search.found.fd = fd;
    else if (fd >= 0)
        close(fd);
    return search.found;
}

static void close_origin(const struct origin *origin) {
    if (origin->fd >= 0)
        close(origin->fd);
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

static bool map_copy(const struct carry_text_run *run, const struct origin *origin,
                     struct carry_text_run *place) {
    bool has_file = origin->fd >= 0 && run->low >= origin->low && run->high <= origin->high;
    void *start = mmap(NULL, run_bytes(run), PROT_READ | PROT_EXEC,
                       MAP_PRIVATE | (has_file ? 0 : MAP_ANONYMOUS), has_file ? origin->fd : -1,
                       has_file ? origin->offset + (off_t)(run->low - origin->low) : 0);
    if (start == MAP_FAILED)
        return false;
    *place = (struct carry_text_run){(uintptr_t)start, (uintptr_t)start + run_bytes(run)};
    return true;
}

/* False if not all could be; copy_count tells how many are. */
static bool map_copies(const struct carry_text_run *runs, size_t count) {
    struct origin origin = {.fd = -1};
    bool ok = true;
    for (copy_count = 0; copy_count < count && ok;) {
        const struct carry_text_run *run = &runs[copy_count];
        if (run->low < origin.low || run->low >= origin.high) {
            close_origin(&origin);
            origin = origin_of(run->low);
        }
        ok = map_copy(run, &origin, &places[copy_count]);
        if (ok)
            copies[copy_count++] = (struct copy){.run = *run};
    }
    close_origin(&origin);
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

/* --- Exchange --- */

/*
 * What somebody else has changed meanwhile, as debuggers set breakpoints. They have microseconds
 * for it in place of the whole commit; what comes in these is lost.
 */
static bool catch_up(size_t i) {
    const uint8_t *text = (const uint8_t *)copies[i].run.low;
    bool ok = true;
    for (size_t at = 0, size = run_bytes(&places[i]); ok && at < size; at++)
        if (text[at] != copies[i].seen[at])
            ok = writer->write(places[i].low + at, &text[at], 1);
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
    return mremap((void *)places[i].low, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
                  (void *)copies[i].run.low) != MAP_FAILED;
}

bool carry_exchange_close(bool keep) {
    size_t done = 0;
    while (keep && done < copy_count && put_in_place(done))
        done++;
    bool ok = !keep || done == copy_count;
    drop_copies(done);
    release_copies();
    return ok;
}

bool carry_exchange_write(uintptr_t address, const void *bytes, size_t size) {
    while (address < copies[copy_last].run.low || address >= copies[copy_last].run.high)
        copy_last = (copy_last + 1) % copy_count;
    uintptr_t place = places[copy_last].low + (address - copies[copy_last].run.low);
    return writer->write(place, bytes, size);
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
    carry_exchange_close(false);
    return NULL;
}

static bool exchange_probe(uint8_t value) {
    bool written = carry_exchange_write((uintptr_t)carry_patch_probe_byte, &value, 1);
    return carry_exchange_close(written) && carry_text_probe_returns(value);
}

/* Is a page run that was put in place of another? Emulators may run what they read before. */
static bool works(void) {
    static enum { UNKNOWN, WORKS, FAILS } known;
    const struct carry_text_run run = carry_text_probe_run();
    if (known == UNKNOWN && make_copies(&run, 1)) {
        bool ok = exchange_probe(2) && make_copies(&run, 1) && exchange_probe(1);
        known = ok ? WORKS : FAILS;
    }
    return known == WORKS;
}

const struct carry_text_writer *carry_exchange_open(const struct carry_text_run *runs,
                                                    size_t count) {
    if (carry_text_is_moved(runs, count) || !works())
        return NULL;
    return make_copies(runs, count);
}
