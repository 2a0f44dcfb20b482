/* SPDX-License-Identifier: MIT */
#include "magic.h"

#include <stddef.h>
#include <string.h>

#include "bytes.h"
#include "pcap.h"
#include "pcapng.h"

static const struct pcap_variant variants[] = {
    {PCAP_MAGIC_US, PCAP_FILE_HEADER_BYTES, 16, 1000},
    {PCAP_MAGIC_NS, PCAP_FILE_HEADER_BYTES, 16, 1},
    {PCAP_MAGIC_MODIFIED, PCAP_FILE_HEADER_BYTES, 24, 1000},
    {PCAP_MAGIC_IXIA_US, PCAP_FILE_HEADER_BYTES + 4, 16, 1000},
    {PCAP_MAGIC_IXIA_NS, PCAP_FILE_HEADER_BYTES + 4, 16, 1},
};

/* The offsets of the two lengths in record headers. Up to version 2.2, and in files of DG/UX
   (version 543), the lengths are in the opposite order (see libpcap). */
static const struct pcap_version versions[] = {
    {2, 3, 4, 8, 12}, {2, 0, 2, 12, 8}, {543, 0, 0, 12, 8}};

const struct pcap_variant *carry_magic_variant(const uint8_t *magic, bool *swap) {
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        *swap = load32(magic, true) == variants[i].magic;
        if (*swap || load32(magic, false) == variants[i].magic)
            return &variants[i];
    }
    *swap = false;
    return NULL;
}

const struct pcap_version *carry_magic_version(const uint8_t *header, bool swap) {
    const uint16_t major = load16(header + 4, swap), minor = load16(header + 6, swap);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (versions[i].major == major && versions[i].least_minor <= minor &&
            minor <= versions[i].most_minor)
            return &versions[i];
    return NULL;
}

/* Checks for pcap. The time zone in the header must be 0, as it has always been in practice. */
bool carry_magic_is_pcap(const uint8_t *bytes) {
    bool swap;
    return carry_magic_variant(bytes, &swap) && carry_magic_version(bytes, swap) &&
           !load32(bytes + 8, swap);
}

bool carry_magic_is_pcapng(const uint8_t *bytes) {
    return load32(bytes, false) == PCAPNG_BLOCK_SECTION &&
           (load32(bytes + 8, false) == PCAPNG_SECTION_MAGIC ||
            load32(bytes + 8, true) == PCAPNG_SECTION_MAGIC);
}

bool carry_magic_is_snoop(const uint8_t *bytes) {
    return memcmp(bytes, SNOOP_MAGIC, SNOOP_MAGIC_BYTES) == 0;
}

/* Checks for both versions of Network Monitor. A month follows magic, version, network and year. */
bool carry_magic_is_netmon(const uint8_t *bytes) {
    const bool is_old = memcmp(bytes, NETMON1_MAGIC, 4) == 0;
    return (is_old || memcmp(bytes, NETMON_MAGIC, 4) == 0) && bytes[5] == (is_old ? 1 : 2) &&
           bytes[10] <= 12 && !bytes[11];
}

bool carry_magic_is_begin(const uint8_t *bytes) {
    return carry_magic_is_pcap(bytes) || carry_magic_is_pcapng(bytes) ||
           carry_magic_is_snoop(bytes) || carry_magic_is_netmon(bytes);
}

/*
 * A trace is a sequence of buffers. Each begins with a header of 0x48 bytes, which has the type of
 * the buffer at 0x36. The type of the first buffer is 4: it holds the file header. Its first event
 * has a version, the size of pointers (1: 32 bits, 2: 64 bits), flags, the size of the event, and
 * the number of the event.
 */
bool carry_magic_is_etl(const uint8_t *bytes) {
    const uint8_t *event = bytes + 0x48;
    return bytes[0x36] == 4 && !bytes[0x37] && event[0] && !event[1] &&
           (event[2] == 1 || event[2] == 2) && event[3] == 0xc0 && !event[6] && !event[7];
}
