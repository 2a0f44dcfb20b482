/* SPDX-License-Identifier: MIT */
/* The numbers of pcapng (draft-ietf-opsawg-pcapng), for who reads files and who writes them. */
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
    PCAPNG_OPTION_RECEIVED = 4,         /* of statistics, as the one below */
    PCAPNG_OPTION_DROPPED = 5,
    PCAPNG_OPTION_TIME_RESOLUTION = 9, /* of an interface, as those below */
    PCAPNG_OPTION_FCS_LENGTH = 13,
    PCAPNG_OPTION_TIME_START = 14,
};

/* 32 bits on a packet. The bits of enum carry_capture_packet_flag are in pcapng_flags.def. */
#define PCAPNG_FLAGS_FCS_SHIFT 5 /* bytes of the frame check sequence; 0: not known */
#define PCAPNG_FLAGS_FCS_MASK  0xfu

/* The bits that mean these flags of enum carry_capture_packet_flag. */
uint32_t carry_pcapng_bits_of(uint32_t flags);

/* In the byte order of a section: by it that is known. */
#define PCAPNG_SECTION_MAGIC 0x1a2b3c4du

/* What the reader takes: interfaces of a section, and bytes of a frame check sequence. */
#define PCAPNG_INTERFACES_MAX 65536u
#define PCAPNG_FCS_MAX        7u

/* Type and length in front of each block, its length again behind. */
#define PCAPNG_HEAD_BYTES 8
#define PCAPNG_TAIL_BYTES 4

#endif
