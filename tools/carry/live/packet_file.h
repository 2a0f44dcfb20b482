/* SPDX-License-Identifier: MIT */
/* Writes the packets of -w as pcapng: a block for each interface, and packets with their flags. */
#ifndef CARRY_TOOLS_LIVE_PACKET_FILE_H
#define CARRY_TOOLS_LIVE_PACKET_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <carry/capture.h>

struct live;
struct packet_file;

/* Opens the file. Returns NULL with errno set on failure. If `path` is "-", packets go to standard
   output, and reports to standard error. */
struct packet_file *packet_file_open(const char *path, const struct live *live);

/* Adds packets under a lock: no other thread adds any between lock and unlock. */
void packet_file_lock(struct packet_file *file);
void packet_file_add(struct packet_file *file, const struct carry_capture_packet *packet);
void packet_file_unlock(struct packet_file *file);

/* Writes the statistics of an interface, by its number, if it had any packets. */
void packet_file_count(struct packet_file *file, unsigned interface,
                       const struct carry_capture_statistics *statistics);

/* Writes everything that was added. */
void packet_file_flush(struct packet_file *file);

/* Checks whether writing has failed, for example to a full disk. */
bool packet_file_has_failed(const struct packet_file *file);

/*
 * Closes the file. Returns false if something was not written. errno then holds the error, or 0 if
 * a reader read nothing for a second once the threads had to end. *lost is the number of packets
 * not written. Either argument may be NULL.
 */
bool packet_file_close(struct packet_file *file, uint64_t *lost);

#endif
