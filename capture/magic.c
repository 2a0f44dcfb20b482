/* SPDX-License-Identifier: MIT */
#include "magic.h"

#include <stddef.h>
#include <string.h>

#include "bytes.h"
#include "pcap.h"
#include "pcapng.h"

static const struct pcap_variant variants[] = {
    {PCAP_MAGIC_US, 16, 1000}, {PCAP_MAGIC_NS, 16, 1}, {PCAP_MAGIC_MODIFIED, 24, 1000}};

/* The offsets of the two lengths in record headers: up to version 2.2, and in files of DG/UX, they
   are in the opposite order (see libpcap). */
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

bool carry_magic_is_begin(const uint8_t *bytes) {
    return carry_magic_is_pcap(bytes) || carry_magic_is_pcapng(bytes) ||
           carry_magic_is_snoop(bytes);
}
