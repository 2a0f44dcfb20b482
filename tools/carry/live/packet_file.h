/* SPDX-License-Identifier: MIT */
/* The packets of -w: pcapng with a block for each interface, and the flags of packets. */
#ifndef CARRY_TOOLS_LIVE_PACKET_FILE_H
#define CARRY_TOOLS_LIVE_PACKET_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <carry/capture.h>

struct live;
struct packet_file;

/* NULL with errno set. "-" is standard output, in whose place reports go to standard error. */
struct packet_file *packet_file_open(const char *path, const struct live *live);

/* Between these two, no other thread adds packets. */
void packet_file_lock(struct packet_file *file);
void packet_file_add(struct packet_file *file, const struct carry_capture_packet *packet);
void packet_file_unlock(struct packet_file *file);

/* What was counted of an interface, by its number, if it had any packets. */
void packet_file_count(struct packet_file *file, unsigned interface,
                       const struct carry_capture_statistics *statistics);

/* Lets readers have what was added. */
void packet_file_flush(struct packet_file *file);

/* Nothing more can be written, as on a full disk. */
bool packet_file_has_failed(const struct packet_file *file);

/*
 * False if something was not written: with errno set, or 0 if a reader took nothing for a second
 * when the threads were to end. *lost is then how many packets. Either may be NULL.
 */
bool packet_file_close(struct packet_file *file, uint64_t *lost);

#endif
