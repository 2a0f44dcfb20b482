/* SPDX-License-Identifier: MIT */
/* Heap sort: needs no memory and no recursion, and has no bad case. */
#include "patch/patch.h"

typedef bool before_fn(const void *a, const void *b);

struct array {
    unsigned char *elements;
    size_t size;
    before_fn *before;
};

static unsigned char *at(const struct array *array, size_t index) {
    return array->elements + index * array->size;
}

static void swap(const struct array *array, size_t a, size_t b) {
    unsigned char element[64];
    __builtin_memcpy(element, at(array, a), array->size);
    __builtin_memcpy(at(array, a), at(array, b), array->size);
    __builtin_memcpy(at(array, b), element, array->size);
}

/* Moves the element at `root` down until it is before neither of its children. */
static void sink(const struct array *array, size_t root, size_t count) {
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && array->before(at(array, child), at(array, child + 1)))
            child++;
        if (!array->before(at(array, root), at(array, child)))
            return;
        swap(array, root, child);
    }
}

static bool in_order(const struct array *array, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (array->before(at(array, i), at(array, i - 1)))
            return false;
    return true;
}

void carry_sort(void *elements, size_t count, size_t size, before_fn *before) {
    const struct array array = {elements, size, before};
    if (in_order(&array, count))
        return;
    for (size_t root = count / 2; root--;)
        sink(&array, root, count);
    for (size_t end = count; end-- > 1;) {
        swap(&array, 0, end);
        sink(&array, 0, end);
    }
}
