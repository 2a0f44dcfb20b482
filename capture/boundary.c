/* SPDX-License-Identifier: MIT */
#include "boundary.h"

#include "pcapng.h"

/* Records that must follow each other from a boundary on, unless the file ends with one of them. */
#define CHAIN_RECORDS 16

/* Limits of a search: bytes, and headers of records that are examined. */
#define SEARCH_BYTES   ((size_t)128 << 10)
#define SEARCH_RECORDS 4096u

/* Limits of a record: the largest default snap length of tcpdump and Wireshark, and ten years
   between packets. If a capture has records beyond them, fewer boundaries are found. */
#define SNAPLEN_BYTES ((uint32_t)256 << 10)
#define SECONDS_APART (UINT32_C(10) * 366 * 86400)

/* A chain of records. */
struct chain {
    const struct carry_capture *capture;
    const uint8_t *bytes;
    size_t size;
    uint32_t seconds;  /* of the first record, in pcap */
    unsigned examined; /* headers */
};

/* Returns the size of the record whose header is at `at`, or 0 if there can be none of a packet. */
typedef size_t boundary_record_fn(struct chain *chain, size_t at, bool is_first);

static size_t pcap_record(struct chain *chain, size_t at, bool is_first) {
    const struct carry_capture *capture = chain->capture;
    const struct pcap *pcap = &capture->pcap;
    const uint8_t *header = chain->bytes + at;
    if (chain->size - at < pcap->record_header)
        return 0;
    const uint32_t captured = load32(header + pcap->captured_at, capture->swap);
    const uint32_t wire = load32(header + pcap->wire_at, capture->swap);
    if (captured - 1 >= SNAPLEN_BYTES || wire < captured || wire > SNAPLEN_BYTES ||
        (uint64_t)load32(header + 4, capture->swap) * pcap->ns_per_tick >= 1000000000)
        return 0;
    const uint32_t seconds = load32(header, capture->swap);
    chain->seconds = is_first ? seconds : chain->seconds;
    const uint32_t apart =
        seconds > chain->seconds ? seconds - chain->seconds : chain->seconds - seconds;
    return apart <= SECONDS_APART ? pcap->record_header + captured : 0;
}

static size_t pcapng_record(struct chain *chain, size_t at, bool is_first) {
    const bool swap = chain->capture->swap;
    const uint8_t *header = chain->bytes + at;
    const size_t left = chain->size - at;
    if (left < PCAPNG_HEAD_BYTES + PCAPNG_TAIL_BYTES)
        return 0;
    const uint32_t type = load32(header, swap), size = load32(header + 4, swap);
    if ((is_first && type != PCAPNG_BLOCK_PACKET && type != PCAPNG_BLOCK_SIMPLE_PACKET &&
         type != PCAPNG_BLOCK_OLD_PACKET) ||
        size % 4 || size < PCAPNG_HEAD_BYTES + PCAPNG_TAIL_BYTES ||
        size > CARRY_CAPTURE_PACKET_MAX || size > left)
        return 0;
    return load32(header + size - PCAPNG_TAIL_BYTES, swap) == size ? size : 0;
}

static const struct {
    boundary_record_fn *record;
    size_t step; /* offsets of records are multiples of this number */
} formats[CARRY_CAPTURE_FORMAT_COUNT] = {
    [CARRY_CAPTURE_FORMAT_PCAP] = {pcap_record, 1},
    [CARRY_CAPTURE_FORMAT_PCAPNG] = {pcapng_record, 4},
};

static bool is_chain(struct chain *chain, boundary_record_fn *record, size_t at) {
    for (unsigned i = 0; i < CHAIN_RECORDS; i++) {
        const size_t size = record(chain, at, i == 0);
        if (!size || size > chain->size - at)
            return false;
        chain->examined++;
        at += size;
        if (at == chain->size)
            return true;
    }
    return true;
}

bool carry_boundary_is_known(const struct carry_capture *capture) {
    return formats[capture->format].record != NULL;
}

size_t carry_boundary_find(const struct carry_capture *capture, const uint8_t *bytes, size_t size,
                           size_t from) {
    struct chain chain = {.capture = capture, .bytes = bytes, .size = size};
    boundary_record_fn *record = formats[capture->format].record;
    const size_t step = formats[capture->format].step, left = size - from;
    const size_t end = from + (left < SEARCH_BYTES ? left : SEARCH_BYTES);
    for (size_t at = from + (step - from % step) % step;
         at < end && chain.examined < SEARCH_RECORDS; at += step)
        if (is_chain(&chain, record, at))
            return at;
    return SIZE_MAX;
}
