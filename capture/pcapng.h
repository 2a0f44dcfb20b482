/* SPDX-License-Identifier: MIT */
/* Constants of pcapng (draft-ietf-opsawg-pcapng), for reading and writing. */
#ifndef CARRY_CAPTURE_SRC_PCAPNG_H
#define CARRY_CAPTURE_SRC_PCAPNG_H

#include <stdint.h>

enum pcapng_block {
    PCAPNG_BLOCK_INTERFACE = 1,
    PCAPNG_BLOCK_OLD_PACKET = 2,
    PCAPNG_BLOCK_SIMPLE_PACKET = 3,
    PCAPNG_BLOCK_STATISTICS = 5, /* of an interface */
    PCAPNG_BLOCK_PACKET = 6,
    PCAPNG_BLOCK_SECTION = 0x0a0d0d0a, /* the same in either byte order */
};

/* The meaning of a code depends on the block. */
enum pcapng_option {
    PCAPNG_OPTION_END = 0,
    PCAPNG_OPTION_COMMENT = 1,
    PCAPNG_OPTION_FLAGS = 2,            /* of a packet */
    PCAPNG_OPTION_INTERFACE_NAME = 2,   /* of an interface */
    PCAPNG_OPTION_USER_APPLICATION = 4, /* of a section */
    PCAPNG_OPTION_RECEIVED = 4,         /* in statistics blocks, like the next one */
    PCAPNG_OPTION_DROPPED = 5,
    PCAPNG_OPTION_TIME_RESOLUTION = 9, /* of an interface, like the next two */
    PCAPNG_OPTION_FCS_LENGTH = 13,
    PCAPNG_OPTION_TIME_START = 14,
};

/* PCAPNG_OPTION_FLAGS holds 32 bits per packet. pcapng_flags.def lists the bits of enum
   carry_capture_packet_flag. */
#define PCAPNG_FLAGS_BYTES     4
#define PCAPNG_FLAGS_FCS_SHIFT 5 /* bytes of the frame check sequence; 0: not known */
#define PCAPNG_FLAGS_FCS_MASK  0xfu

/* Returns the bits of PCAPNG_OPTION_FLAGS for these flags of enum carry_capture_packet_flag. */
uint32_t carry_pcapng_bits_of(uint32_t flags);

/* Identifies the byte order of a section: it is written in that byte order. */
#define PCAPNG_SECTION_MAGIC 0x1a2b3c4du

/* Limits of the reader: interfaces of a section, and bytes of a frame check sequence. */
#define PCAPNG_INTERFACES_MAX 65536u
#define PCAPNG_FCS_MAX        7u

/* A block begins with its type and its length, and ends with its length again. */
#define PCAPNG_HEAD_BYTES 8
#define PCAPNG_TAIL_BYTES 4

#endif
