/* SPDX-License-Identifier: MIT */
/* Remembers the first few distinct values: evidence that is seen twice counts once. */
#ifndef CARRY_CAPTURE_SRC_SEEN_H
#define CARRY_CAPTURE_SRC_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include <carry/capture.h>

struct seen {
    uint32_t values[CARRY_CAPTURE_FLOW_AGREES];
    uint32_t count;
};

/* Returns true if the value is new and was added. */
static inline bool see_value(struct seen *seen, uint32_t value) {
    for (unsigned i = 0; i < seen->count; i++)
        if (seen->values[i] == value)
            return false;
    if (seen->count == CARRY_CAPTURE_FLOW_AGREES)
        return false;
    seen->values[seen->count++] = value;
    return true;
}

static inline bool has_seen_enough(const struct seen *seen) {
    return seen->count == CARRY_CAPTURE_FLOW_AGREES;
}

#endif
