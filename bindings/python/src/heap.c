/* SPDX-License-Identifier: MIT */
#include "heap.h"

#include <stdlib.h>
#include <string.h>

bool heap_append(struct heap *heap, const void *bytes, size_t size) {
    if (size > heap->room - heap->size) {
        const size_t room = 2 * (heap->size + size);
        void *more = realloc(heap->data, room);
        if (!more)
            return false;
        heap->data = more;
        heap->room = room;
    }
    if (size)
        memcpy((char *)heap->data + heap->size, bytes, size);
    heap->size += size;
    return true;
}
