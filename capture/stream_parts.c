/* SPDX-License-Identifier: MIT */
#include "stream_parts.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "unpack_method.h"

/* Parts in progress besides one for each thread: the oldest one, which is passed on. */
#define PARTS_MORE 1
#define PARTS_MAX  32u

/* Memory is allocated in multiples of this size, so that it fits further parts. */
#define GRANULE ((size_t)256 << 10)

/* Addresses of the heap that each thread that unpacks gets (of glibc). */
#define HEAP_BYTES ((size_t)64 << 20)

/* Limits the headers of a part, which may belong to tiny blocks. */
#define PART_HOPS 4096u

/* Holds what a part needs. It is used again: new memory would have to be mapped page by page. */
struct kit {
    uint8_t *bytes; /* unpacked, with room for one more than there may be; then packed */
    size_t capacity;
    struct unpack *unpack;
};

struct part {
    uint64_t from, to; /* in the compressed file */
    size_t most;       /* the most bytes that it may unpack to */
    struct kit kit;
    size_t size; /* unpacked; SIZE_MAX: the part could not be unpacked */
    bool done;
};

/* Parts are numbered like the batches of a pipeline: part n is in ring[n % count]. */
struct parts {
    struct carry_capture *capture;
    struct threads *threads;

    /* Only for the thread that reads. */
    struct part next; /* the part after those in progress */
    bool sought;      /* it was looked for; */
    bool found;       /* and it was found */
    bool failed;      /* some part could not be unpacked */
    uint64_t finished;
    size_t given;               /* bytes of the oldest part that were passed on */
    struct kit idle[PARTS_MAX]; /* kits of finished parts */
    unsigned idle_count;
    size_t memory; /* bytes of all kits, idle or not */

    /* Shared by all threads under the lock, like `done` of each part. */
    uint64_t taken, submitted;

    unsigned count;
    struct part ring[];
};

static struct part *ring_part(struct parts *parts, uint64_t number) {
    return &parts->ring[number % parts->count];
}

/* --- Any thread --- */

static size_t packed_size(const struct part *part) {
    return (size_t)(part->to - part->from);
}

static void unpack_part(const struct parts *parts, struct part *part) {
    const struct carry_capture *capture = parts->capture;
    const struct kit *kit = &part->kit;
    const size_t room = part->most + 1, size = packed_size(part);
    uint8_t *packed = kit->bytes + room;
    part->size = SIZE_MAX;
    if (carry_reader_read_at(capture, part->from, packed, size) == size)
        part->size = carry_unpack_streams(kit->unpack, packed, size, kit->bytes, room);
}

bool carry_parts_unpack(struct parts *parts) {
    if (parts->taken == parts->submitted)
        return false;
    struct part *part = ring_part(parts, parts->taken++);
    carry_threads_unlock(parts->threads);
    unpack_part(parts, part);
    carry_threads_lock(parts->threads);
    part->done = true;
    carry_threads_signal(parts->threads, THREADS_DONE);
    return true;
}

/* --- The thread that reads --- */

/* Checks whether a part has enough bytes to be worth a thread's attention. */
static bool is_large(const struct parts *parts, const struct part *part) {
    const size_t enough = parts->capture->piece_bytes;
    return part->most >= enough || packed_size(part) >= enough;
}

/* Finds the end of a part. Returns false if no stream begins there that ends within the limits. */
static bool find_end(const struct parts *parts, struct part *part) {
    struct unpack_hop hop = {0};
    uint64_t at = part->from;
    for (unsigned hops = 0; hops < PART_HOPS && !is_large(parts, part); hops++) {
        uint8_t header[UNPACK_HEADER_BYTES] = {0};
        const size_t have = carry_reader_read_at(parts->capture, at, header, sizeof header);
        const uint64_t distance = have ? carry_unpack_hop(parts->capture->unpack, &hop, header) : 0;
        at += distance;
        if (!distance || at - part->from > PART_BYTES_MAX || hop.unpacked > PART_BYTES_MAX)
            break;
        part->to = hop.inside ? part->to : at;
        part->most = hop.inside ? part->most : (size_t)hop.unpacked;
    }
    return part->to > part->from;
}

static void free_kit(const struct kit *kit) {
    free(kit->bytes);
    if (kit->unpack)
        carry_unpack_close(kit->unpack);
}

/* Frees idle kits until the one that was used last is large enough. */
static void free_idle(struct parts *parts, size_t least) {
    while (parts->idle_count && parts->idle[parts->idle_count - 1].capacity < least) {
        parts->memory -= parts->idle[--parts->idle_count].capacity;
        free_kit(&parts->idle[parts->idle_count]);
    }
}

static bool open_kit(struct parts *parts, size_t capacity, struct kit *kit) {
    kit->bytes = malloc(capacity);
    kit->capacity = capacity;
    kit->unpack = carry_unpack_open_same(parts->capture->unpack);
    if (kit->bytes && kit->unpack) {
        parts->memory += capacity;
        return true;
    }
    free_kit(kit);
    return false;
}

/* Returns false if there is too little memory. */
static bool provide_kit(struct parts *parts, struct part *part) {
    const size_t needed = part->most + 1 + packed_size(part);
    const size_t capacity = (needed + GRANULE - 1) / GRANULE * GRANULE;
    free_idle(parts, capacity);
    if (!parts->idle_count)
        return parts->memory + capacity <= PARTS_BYTES && open_kit(parts, capacity, &part->kit);
    part->kit = parts->idle[--parts->idle_count];
    return true;
}

static void set_next(struct parts *parts, uint64_t from) {
    parts->next = (struct part){.from = from, .to = from};
    parts->sought = parts->found = false;
}

/* Finds the next part, unless it was sought before. */
static bool find_next(struct parts *parts) {
    if (!parts->sought)
        parts->found = find_end(parts, &parts->next);
    parts->sought = true;
    return parts->found;
}

static void submit_next(struct parts *parts) {
    *ring_part(parts, parts->submitted) = parts->next;
    set_next(parts, parts->next.to);
    carry_threads_lock(parts->threads);
    parts->submitted++;
    carry_threads_signal(parts->threads, THREADS_WORK);
    carry_threads_unlock(parts->threads);
}

/* Submits parts ahead. Returns false if none is in progress. */
static bool submit_parts(struct parts *parts) {
    const uint64_t at = carry_input_offset(&parts->capture->packed);
    if (parts->finished == parts->submitted && parts->next.from != at)
        set_next(parts, at);
    while (!parts->failed && parts->submitted - parts->finished < parts->count &&
           find_next(parts) && provide_kit(parts, &parts->next))
        submit_next(parts);
    return parts->finished < parts->submitted;
}

/* Waits until the oldest part was unpacked, and unpacks waiting parts until then. */
static struct part *await_oldest(struct parts *parts) {
    struct part *part = ring_part(parts, parts->finished);
    carry_threads_lock(parts->threads);
    while (!part->done)
        if (!carry_parts_unpack(parts))
            carry_threads_wait(parts->threads, THREADS_DONE);
    carry_threads_unlock(parts->threads);
    return part;
}

static void finish_oldest(struct parts *parts) {
    struct part *part = await_oldest(parts);
    parts->idle[parts->idle_count++] = part->kit;
    parts->given = 0;
    parts->finished++;
}

/* Drops the parts that no thread has taken, and awaits the others. */
static void drop_parts(struct parts *parts) {
    carry_threads_lock(parts->threads);
    for (; parts->taken < parts->submitted; parts->taken++)
        ring_part(parts, parts->taken)->done = true;
    carry_threads_unlock(parts->threads);
    while (parts->finished < parts->submitted)
        finish_oldest(parts);
}

/* Passes on bytes of the oldest part. Its end is the place where the file would be read on. */
static size_t give_bytes(struct parts *parts, void *buffer, size_t size) {
    const struct part *part = await_oldest(parts);
    const size_t left = part->size - parts->given;
    const size_t given = size < left ? size : left;
    memcpy(buffer, part->kit.bytes + parts->given, given);
    parts->given += given;
    if (given < left)
        return given;
    carry_reader_seek(parts->capture, part->to);
    finish_oldest(parts);
    return given;
}

/* Reads unpacked bytes: see carry_unpack_between(). */
static int64_t read_parts(void *context, void *buffer, size_t size) {
    struct parts *parts = context;
    size_t given = 0;
    while (!given && submit_parts(parts)) {
        parts->failed = await_oldest(parts)->size == SIZE_MAX;
        if (parts->failed)
            drop_parts(parts);
        else
            given = give_bytes(parts, buffer, size);
    }
    return (int64_t)given;
}

/* --- Parts of a capture --- */

bool carry_parts_can_begin(const struct carry_capture *capture) {
    return capture->unpack && carry_reader_can_seek(capture) &&
           capture->source.size > carry_capture_position(capture) + capture->piece_bytes;
}

/* Checks whether memory for parts would leave enough for all else. Maps it, as allocators may touch
   what they allocate. */
static bool has_room(unsigned threads) {
    const size_t size = PARTS_BYTES + threads * HEAP_BYTES;
    void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return false;
    munmap(room, size);
    return true;
}

struct parts *carry_parts_open(struct carry_capture *capture, struct threads *threads,
                               unsigned count) {
    const unsigned wanted = count + PARTS_MORE;
    const unsigned slots = wanted < PARTS_MAX ? wanted : PARTS_MAX;
    struct parts *parts =
        has_room(slots) ? calloc(1, sizeof *parts + slots * sizeof *parts->ring) : NULL;
    if (!parts)
        return NULL;
    parts->capture = capture;
    parts->threads = threads;
    parts->count = slots;
    carry_unpack_between(capture->unpack, read_parts, parts);
    return parts;
}

/* Unpacks again, without parts, the bytes that were passed on before. */
static void skip_given(struct unpack *unpack, size_t given) {
    uint8_t bytes[4096];
    int64_t got = 1;
    for (; given && got > 0; given -= got > 0 ? (size_t)got : 0)
        got = carry_unpack_read(unpack, bytes, given < sizeof bytes ? given : sizeof bytes);
}

void carry_parts_close(struct parts *parts) {
    if (!parts)
        return;
    struct carry_capture *capture = parts->capture;
    const size_t given = parts->given;
    drop_parts(parts);
    carry_unpack_between(capture->unpack, NULL, NULL);
    skip_given(capture->unpack, given);
    free_idle(parts, SIZE_MAX);
    free(parts);
}
