/* SPDX-License-Identifier: MIT */
/*
 * Related packets: packets of a part of a capture that must be judged together with packets of
 * other parts. The process that reads a part sends them as bytes to the process that adds up all
 * parts.
 */
#ifndef CARRY_PYTHON_PARTS_H
#define CARRY_PYTHON_PARTS_H

#include "heap.h"
#include "module.h"

struct relatives {
    struct heap heap;
    size_t most;  /* limit of heap, in bytes */
    bool is_full; /* there was no room for a packet */
};

/* Adds a packet, for a carry_capture_related_fn. Returns false if there is no room, to end the
   check. */
bool relatives_add(struct relatives *relatives, const struct carry_capture_packet *packet);

#endif
