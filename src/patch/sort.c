/* SPDX-License-Identifier: MIT */
/* Heap sort: needs no memory and no recursion, and has no bad case. */
#include "patch/patch_internal.h"

typedef bool before_fn(const void *a, const void *b);

struct array {
    unsigned char *elements;
    size_t size;
    before_fn *before;
};

static unsigned char *element_at(const struct array *array, size_t index) {
    return array->elements + index * array->size;
}

static void swap_elements(const struct array *array, size_t a, size_t b) {
    unsigned char element[64];
    __builtin_memcpy(element, element_at(array, a), array->size);
    __builtin_memcpy(element_at(array, a), element_at(array, b), array->size);
    __builtin_memcpy(element_at(array, b), element, array->size);
}

/* Moves the element at `root` down until it is before neither of its children. */
static void sink_element(const struct array *array, size_t root, size_t count) {
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count &&
            array->before(element_at(array, child), element_at(array, child + 1)))
            child++;
        if (!array->before(element_at(array, root), element_at(array, child)))
            return;
        swap_elements(array, root, child);
    }
}

static bool is_sorted(const struct array *array, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (array->before(element_at(array, i), element_at(array, i - 1)))
            return false;
    return true;
}

void carry_sort(void *elements, size_t count, size_t size, before_fn *before) {
    const struct array array = {elements, size, before};
    if (is_sorted(&array, count))
        return;
    for (size_t root = count / 2; root--;)
        sink_element(&array, root, count);
    for (size_t end = count; end-- > 1;) {
        swap_elements(&array, 0, end);
        sink_element(&array, 0, end);
    }
}
