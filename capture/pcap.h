/* SPDX-License-Identifier: MIT */
/* Constants of pcap (draft-ietf-opsawg-pcap), for reading and writing. */
#ifndef CARRY_CAPTURE_SRC_PCAP_H
#define CARRY_CAPTURE_SRC_PCAP_H

/* Magic numbers. In Ixia's files, the size of all records follows the file header. */
#define PCAP_MAGIC_US       0xa1b2c3d4u
#define PCAP_MAGIC_NS       0xa1b23c4du
#define PCAP_MAGIC_MODIFIED 0xa1b2cd34u /* Kuznetzov's: record headers have 8 bytes more */
#define PCAP_MAGIC_IXIA_US  0x1c0001abu /* Ixia's software */
#define PCAP_MAGIC_IXIA_NS  0x1c0001acu /* Ixia's hardware */

#define PCAP_FILE_HEADER_BYTES 24

/* Bits of the word with the link type: bit 26 says that the top four bits hold the size of the FCS
   in 16-bit words. The reserved bits are 0; otherwise the word is a private link type. */
#define PCAP_LINKTYPE_MASK 0xffffu
#define PCAP_RESERVED      0x03ff0000u
#define PCAP_HAS_FCS       (1u << 26)
#define PCAP_FCS_SHIFT     28
#define PCAP_FCS_UNIT      2u
#define PCAP_FCS_MAX       (15 * PCAP_FCS_UNIT)

#endif
