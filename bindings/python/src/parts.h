/* SPDX-License-Identifier: MIT */
/*
 * Related packets: those of a part of a capture that must be judged with those of other parts. As
 * bytes, they are sent from the process that read the part to the one that adds up all parts.
 */
#ifndef CARRY_PYTHON_PARTS_H
#define CARRY_PYTHON_PARTS_H

#include "heap.h"
#include "module.h"

struct relatives {
    struct heap heap;
    size_t most;  /* bytes */
    bool is_full; /* there was no room for a packet */
};

/* Adds a packet; false if there is no room, which ends the check (carry_capture_related_fn). */
bool relatives_add(struct relatives *relatives, const struct carry_capture_packet *packet);

#endif
