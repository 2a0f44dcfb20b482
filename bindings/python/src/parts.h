/* SPDX-License-Identifier: MIT */
/*
 * Packets of a part of a capture that have to be judged with those of other parts, as bytes: so
 * they travel from the process that read the part to the one that adds all parts up.
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

/* False if there is no room: as carry_capture_related_fn, that ends the check. */
bool relatives_add(struct relatives *relatives, const struct carry_capture_packet *packet);

#endif
