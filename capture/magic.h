/* SPDX-License-Identifier: MIT */
/* What captures begin with: known to each format, as one may stand behind another in a file. */
#ifndef CARRY_CAPTURE_SRC_MAGIC_H
#define CARRY_CAPTURE_SRC_MAGIC_H

#include <stdbool.h>
#include <stdint.h>

/* A kind of pcap file, by its magic number. */
struct pcap_variant {
    uint32_t magic;
    uint32_t record_header; /* bytes */
    uint32_t ns_per_tick;
};

/* Where a record's header has its lengths, by the version of the file. */
struct pcap_version {
    uint16_t major, least_minor, most_minor;
    uint32_t captured_at, wire_at;
};

/* By the first 4 bytes of a file, with its byte order; NULL if it is no pcap file. */
const struct pcap_variant *carry_magic_variant(const uint8_t *magic, bool *swap);

/* By its first 8 bytes; NULL for versions that are not known. */
const struct pcap_version *carry_magic_version(const uint8_t *header, bool swap);

#define SNOOP_MAGIC       "snoop\0\0"
#define SNOOP_MAGIC_BYTES 8 /* with the last 0 */

/* Are these 12 bytes the first ones of a file, and of nothing else? */
bool carry_magic_is_pcap(const uint8_t *bytes);
bool carry_magic_is_pcapng(const uint8_t *bytes);
bool carry_magic_is_snoop(const uint8_t *bytes);
bool carry_magic_is_begin(const uint8_t *bytes); /* of any of these formats */

#endif
