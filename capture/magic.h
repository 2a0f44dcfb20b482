/* SPDX-License-Identifier: MIT */
/* Recognises the first bytes of captures. Every reader of a format checks for them, because one
   capture may follow another in a file. */
#ifndef CARRY_CAPTURE_SRC_MAGIC_H
#define CARRY_CAPTURE_SRC_MAGIC_H

#include <stdbool.h>
#include <stdint.h>

/* A variant of pcap, by its magic number. */
struct pcap_variant {
    uint32_t magic;
    uint32_t file_header, record_header; /* bytes */
    uint32_t ns_per_tick;
};

/* Offsets of the lengths in a record's header, by the version of the file. */
struct pcap_version {
    uint16_t major, least_minor, most_minor;
    uint32_t captured_at, wire_at;
};

/* Returns the variant of pcap that the first 4 bytes of a file state, and sets `swap`. Returns NULL
   if the bytes are not a magic number of pcap. */
const struct pcap_variant *carry_magic_variant(const uint8_t *magic, bool *swap);

/* Returns the version that the first 8 bytes of a file state, or NULL if it is unknown. */
const struct pcap_version *carry_magic_version(const uint8_t *header, bool swap);

#define SNOOP_MAGIC       "snoop\0\0"
#define SNOOP_MAGIC_BYTES 8 /* with the final 0 */

#define NETMON_MAGIC  "GMBU"
#define NETMON1_MAGIC "RTSS"

#define CAPTURE_BEGIN_BYTES 12

/* Check whether these CAPTURE_BEGIN_BYTES begin a file of this format, and can hardly be anything
   else. */
bool carry_magic_is_pcap(const uint8_t *bytes);
bool carry_magic_is_pcapng(const uint8_t *bytes);
bool carry_magic_is_snoop(const uint8_t *bytes);
bool carry_magic_is_netmon(const uint8_t *bytes);
bool carry_magic_is_begin(const uint8_t *bytes); /* checks for any of these formats */

/* Checks whether these bytes begin an event trace of Windows, which may hold packets. */
#define ETL_MAGIC_BYTES 0x50
bool carry_magic_is_etl(const uint8_t *bytes);

#endif
