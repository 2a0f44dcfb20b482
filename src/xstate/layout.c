/* SPDX-License-Identifier: MIT */
/* Layouts: names, sizes and offsets of components, and the cached layout of this machine. */
#include "base/general_begin.h"

#include "xstate/xstate_internal.h"

/* A layout as words, each of which every CPU loads or stores in one access. */
union words {
    struct carry_xstate_layout layout;
    uintptr_t words[sizeof(struct carry_xstate_layout) / sizeof(uintptr_t)];
};

#define WORD_OF(member) (offsetof(struct carry_xstate_layout, member) / sizeof(uintptr_t))

/* Cached because CPUID costs a microsecond in virtual machines. */
static union words cached;
static bool is_cached;

#define CARRY_COMPONENT(bit, name, description) [bit] = {#name, description},
static const struct {
    const char *name;
    const char *description;
} components[CARRY_XSTATE_COMPONENTS] = {
#include <carry/components.def>
};
#undef CARRY_COMPONENT

const char *carry_xstate_name(unsigned component) {
    return component < CARRY_XSTATE_COMPONENTS ? components[component].name : "unknown";
}

const char *carry_xstate_description(unsigned component) {
    return component < CARRY_XSTATE_COMPONENTS ? components[component].description : "unknown";
}

/* --- This machine --- */

/* Caches the layout. Threads that race find the same words, so each may store them. */
static void cache_layout(void) {
    union words found = {.words = {0}};
    carry_xstate_detect(&found.layout);
    for (size_t i = 0; i < sizeof found / sizeof *found.words; i++)
        __atomic_store_n(&cached.words[i], found.words[i], __ATOMIC_RELAXED);
    __atomic_store_n(&is_cached, true, __ATOMIC_RELEASE);
}

static void need_layout(void) {
    if (!__atomic_load_n(&is_cached, __ATOMIC_ACQUIRE))
        cache_layout();
}

static void load_words(union words *copy, size_t from, size_t to) {
    need_layout();
    for (size_t i = from; i < to; i++)
        copy->words[i] = __atomic_load_n(&cached.words[i], __ATOMIC_RELAXED);
}

void carry_xstate_layout(struct carry_xstate_layout *layout) {
    union words copy;
    load_words(&copy, 0, sizeof copy / sizeof *copy.words);
    *layout = copy.layout;
}

uint64_t carry_xstate_user(void) {
    union words copy;
    load_words(&copy, WORD_OF(user), WORD_OF(user) + sizeof copy.layout.user / sizeof(uintptr_t));
    return copy.layout.user;
}

/* --- Any machine --- */

static bool has_component(uint64_t mask, unsigned component) {
    return mask >> component & 1;
}

static const struct carry_xstate_part *part_of(const struct carry_xstate_layout *layout,
                                               uint64_t mask, unsigned component) {
    bool is_there = component < CARRY_XSTATE_COMPONENTS && component > CARRY_XSTATE_SSE &&
                    has_component(mask & (layout->user | layout->supervisor), component);
    return is_there && layout->parts[component].size ? &layout->parts[component] : NULL;
}

/* Returns the offset of `component`, which the image must hold, in the compact form; for
 * CARRY_XSTATE_COMPONENTS, the end of the image. */
static size_t compact_offset(const struct carry_xstate_layout *layout, uint64_t mask,
                             unsigned component) {
    size_t offset = CARRY_XSTATE_EXTENDED;
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++) {
        const struct carry_xstate_part *part = part_of(layout, mask, i);
        if (part && part->aligned)
            offset = (offset + 63) & ~(size_t)63;
        if (i == component)
            return offset;
        offset += part ? part->size : 0;
    }
    return offset;
}

/* Returns the end of the last component. Offsets need not ascend: APX has the offset of BNDREGS. */
static size_t standard_end(const struct carry_xstate_layout *layout, uint64_t mask) {
    size_t end = CARRY_XSTATE_EXTENDED;
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++) {
        const struct carry_xstate_part *part = part_of(layout, mask, i);
        size_t last = part && part->offset ? (size_t)part->offset + part->size : 0;
        end = last > end ? last : end;
    }
    return end;
}

static bool is_form(enum carry_xstate_form form) {
    return form == CARRY_XSTATE_STANDARD || form == CARRY_XSTATE_COMPACT;
}

size_t carry_xstate_size(const struct carry_xstate_layout *layout, uint64_t mask,
                         enum carry_xstate_form form) {
    if (!is_form(form))
        return 0;
    if (!layout->user)
        return CARRY_XSTATE_LEGACY;
    return form == CARRY_XSTATE_COMPACT ? compact_offset(layout, mask, CARRY_XSTATE_COMPONENTS)
                                        : standard_end(layout, mask);
}

size_t carry_xstate_offset(const struct carry_xstate_layout *layout, uint64_t mask,
                           enum carry_xstate_form form, unsigned component) {
    if (component == CARRY_XSTATE_SSE && is_form(form))
        return CARRY_AREA_XMM;
    const struct carry_xstate_part *part = part_of(layout, mask, component);
    if (!part || !is_form(form))
        return 0;
    return form == CARRY_XSTATE_COMPACT ? compact_offset(layout, mask, component) : part->offset;
}

#include "base/general_end.h"
