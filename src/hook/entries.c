/* SPDX-License-Identifier: MIT */
/*
 * Hooks of patchable entries. Each entry is a site of `patch`, with its own record and key in
 * memory near the function, so it is verified, guarded and written like every site.
 */
#include "hook/hook_internal.h"

#include "patch/patch_internal.h"

/* The entries of an object. */
struct entries {
    struct entries *next;
    const uintptr_t *start; /* of the section with their addresses: identifies the object */
    struct carry_hook_block *blocks;
};

static struct entries *all_entries;
static struct carry_hook_block *free_blocks; /* of objects that are not registered */

/* --- Registration --- */

static bool entry_comes_before(const void *a, const void *b) {
    return *(const uintptr_t *)a < *(const uintptr_t *)b;
}

/* Checks whether an entry is at `address`: linkers leave addresses of functions that they dropped.
 * `text` caches the text that contained the last address. */
static bool is_patchable_entry(uintptr_t address, struct carry_host_text_range *text) {
    if (address - text->low >= text->high - text->low && !carry_host_hook()->text_at(address, text))
        return false;
    return text->high - address >= carry_entry_bytes() &&
           carry_entry_nops((const uint8_t *)address);
}

static bool is_in_reach(uintptr_t from, uintptr_t to) {
    return to - from + carry_entry_reach() < 2 * carry_entry_reach();
}

static int32_t offset_to(const int32_t *offset, uintptr_t target) {
    return (int32_t)(target - (uintptr_t)offset);
}

static uintptr_t entry_function(uintptr_t entry, const struct carry_host_text_range *text) {
    const uintptr_t start = entry - CARRY_LANDING_BYTES;
    return entry - text->low >= CARRY_LANDING_BYTES && carry_is_landing_pad((const uint8_t *)start)
               ? start
               : entry;
}

static void add_entry(struct carry_hook_block *block, uintptr_t address,
                      const struct carry_host_text_range *text) {
    struct carry_hook_point *point = &block->points[block->used];
    struct carry_site *record = &block->records[block->used++];
    *record = (struct carry_site){
        .site = offset_to(&record->site, address),
        .key = offset_to(&record->key, (uintptr_t)&point->key),
        .aux = offset_to(&record->aux, point->stub),
        .kind = CARRY_SITE_ENTRY,
        .length = (uint8_t)carry_entry_bytes(),
        .flags = carry_entry_nops((const uint8_t *)address) == 1 ? CARRY_SITE_SINGLE : 0,
        .version = CARRY_SITE_VERSION,
    };
    point->place = (struct carry_hook_place){
        .kind = CARRY_HOOK_ENTRY,
        .object = text->object,
        .symbol = "",
        .version = "",
        .function = entry_function(address, text),
        .address = address,
    };
    point->thunk.target = (const void *)(address + carry_entry_bytes());
    point->whole = true; /* the arguments of the function are unknown */
    point->site = record;
    point->key.value = 0;
}

/* Checks whether the whole block is in reach: with its stubs it may be a mebibyte long. */
static bool is_block_near(const struct carry_hook_block *block, uintptr_t address) {
    return is_in_reach((uintptr_t)block, address) && is_in_reach((uintptr_t)(block + 1), address);
}

static struct carry_hook_block *take_block(uintptr_t near) {
    for (struct carry_hook_block **place = &free_blocks; *place; place = &(*place)->next) {
        struct carry_hook_block *block = *place;
        if (is_block_near(block, near)) {
            *place = block->next;
            block->used = 0;
            return block;
        }
    }
    return carry_block_make(near);
}

static void give_blocks(struct carry_hook_block *block) {
    for (struct carry_hook_block *next; block; block = next) {
        next = block->next;
        block->next = free_blocks;
        free_blocks = block;
    }
}

/* Fills blocks with the entries of a sorted list. Returns 0, or CARRY_ERROR_PERMISSION if a block
 * cannot be made. */
static int fill_blocks(struct entries *entries, const uintptr_t *list, size_t count) {
    struct carry_host_text_range text = {"", 0, 0};
    struct carry_hook_block *block = NULL;
    for (size_t i = 0; i < count; i++) {
        if ((i && list[i] == list[i - 1]) || !is_patchable_entry(list[i], &text))
            continue;
        if (!block || block->used == CARRY_BLOCK_POINTS || !is_block_near(block, list[i])) {
            block = take_block(list[i]);
            if (!block)
                return CARRY_ERROR_PERMISSION;
            block->next = entries->blocks;
            entries->blocks = block;
        }
        add_entry(block, list[i], &text);
    }
    return CARRY_OK;
}

/* Registers the sites. After carry_patch_apply(), this also patches the entries to one NOP. Returns
 * 0 or CARRY_ERROR_MEMORY. */
static int add_sites(struct entries *entries) {
    int error = CARRY_OK;
    for (struct carry_hook_block *block = entries->blocks; block && !error; block = block->next) {
        error = carry_patch_register(block->records, block->records + block->used);
        if (error != CARRY_ERROR_MEMORY) /* registered, but not patched */
            error = CARRY_OK;
    }
    return error;
}

static void remove_sites(const struct entries *entries) {
    for (const struct carry_hook_block *block = entries->blocks; block; block = block->next)
        carry_patch_unregister(block->records);
}

static void release_entries(struct entries *entries) {
    give_blocks(entries->blocks);
    carry_host_text()->release(entries, sizeof *entries);
}

static int add_entries(const uintptr_t *start, const uintptr_t *list, size_t count) {
    struct entries *entries = carry_host_text()->allocate(sizeof *entries);
    if (!entries)
        return CARRY_ERROR_MEMORY;
    *entries = (struct entries){.next = all_entries, .start = start};
    int error = fill_blocks(entries, list, count);
    if (!error)
        error = add_sites(entries);
    if (!error) {
        all_entries = entries;
        return CARRY_OK;
    }
    remove_sites(entries);
    release_entries(entries);
    return error;
}

int carry_hook_register(const uintptr_t *start, const uintptr_t *stop) {
    const size_t size = (uintptr_t)stop - (uintptr_t)start;
    if (!carry_stub_supported())
        return CARRY_ERROR_UNSUPPORTED;
    if (!size)
        return CARRY_OK;
    uintptr_t *list = carry_host_text()->allocate(size);
    if (!list)
        return CARRY_ERROR_MEMORY;
    __builtin_memcpy(list, start, size);
    carry_sort(list, size / sizeof *list, sizeof *list, entry_comes_before);
    carry_host_text()->lock();
    int error = add_entries(start, list, size / sizeof *list);
    carry_host_text()->unlock();
    carry_host_text()->release(list, size);
    return error;
}

static bool is_hooked(const struct carry_hook_block *block) {
    size_t i = 0;
    while (i < block->used && !carry_point_is_on(&block->points[i]))
        i++;
    return i < block->used;
}

/* Drops blocks with attached hooks: the hooks still refer to their points, so the blocks must not
 * be reused. */
static void keep_hooked(struct entries *entries) {
    for (struct carry_hook_block **place = &entries->blocks; *place;)
        if (is_hooked(*place))
            *place = (*place)->next;
        else
            place = &(*place)->next;
}

void carry_hook_unregister(const uintptr_t *start) {
    carry_host_text()->lock();
    struct entries **place = &all_entries;
    while (*place && (*place)->start != start)
        place = &(*place)->next;
    struct entries *entries = *place;
    if (entries) {
        *place = entries->next;
        remove_sites(entries);
        keep_hooked(entries);
        release_entries(entries);
    }
    carry_host_text()->unlock();
}

/* --- Attaching --- */

static bool holds_jump(const struct carry_hook_point *point) {
    uint8_t bytes[CARRY_SITE_BYTES_MAX];
    return carry_encode(point->site, 1, NULL, bytes) && carry_site_holds(point->site, bytes);
}

/* Checks whether an entry can become a jump: its stub is in reach, and it is one instruction or
 * there is only one thread. */
static bool can_jump(const struct carry_hook_point *point) {
    uint8_t bytes[CARRY_SITE_BYTES_MAX];
    return carry_encode(point->site, 1, NULL, bytes) &&
           (carry_host_text()->alone() || !carry_site_is_multi_insn(point->site));
}

static int commit_entries(const struct carry_hook_point *points, uintptr_t value) {
    struct carry_patch patch;
    carry_changes_start(&patch);
    for (const struct carry_hook_point *point = points; point; point = point->next)
        if (point->place.kind == CARRY_HOOK_ENTRY)
            carry_patch_set(&patch, (struct carry_key *)carry_site_key(point->site), value);
    return carry_commit_changes(&patch);
}

/* Replaces entries by jumps: all or none. Returns 0 or an error. A commit also succeeds if text
 * cannot be written but sites can read their keys. Entries cannot, so this function checks each
 * entry. */
static int make_jumps(const struct carry_hook_point *points) {
    int error = commit_entries(points, 1);
    const struct carry_hook_point *point = points;
    while (point && holds_jump(point))
        point = point->next;
    if (error || !point)
        return error;
    commit_entries(points, 0);
    return carry_patch_refusal == CARRY_PATCH_NO_SYNC ? CARRY_ERROR_NO_SYNC
                                                      : CARRY_ERROR_PERMISSION;
}

int carry_entries_restore(const struct carry_hook_point *points) {
    return commit_entries(points, 0);
}

static void plan_entry(struct carry_hook_plan *plan, struct carry_hook_point *point,
                       const struct carry_hook *hook) {
    if (carry_point_is_on(point) && point->hook == hook)
        plan->present++;
    else if (carry_point_is_on(point) || point->planned || !can_jump(point))
        plan->skipped++;
    else
        carry_plan_add(plan, point, hook);
}

/* Plans the entries of `function`, or if it is 0 the entries that match the hook. */
static void plan_entries(struct carry_hook_plan *plan, const struct carry_hook *hook,
                         uintptr_t function) {
    for (struct entries *entries = all_entries; entries; entries = entries->next)
        for (struct carry_hook_block *block = entries->blocks; block; block = block->next)
            for (size_t i = 0; i < block->used; i++) {
                struct carry_hook_point *point = &block->points[i];
                if (function ? point->place.function == function
                             : carry_hook_matches(hook, &point->place))
                    plan_entry(plan, point, hook);
            }
}

static int attach_entries(struct carry_hook *hook, uintptr_t function) {
    struct carry_hook_plan plan;
    int error = carry_hook_check(hook);
    if (error)
        return error;
    carry_host_hook_thread.inside = true;
    carry_host_text()->lock();
    carry_plan_start(&plan);
    plan_entries(&plan, hook, function);
    error = carry_plan_finish(&plan, hook, plan.count ? make_jumps(plan.first) : CARRY_OK);
    carry_host_text()->unlock();
    carry_host_hook_thread.inside = false;
    return error;
}

int carry_hook_attach_entries(struct carry_hook *hook) {
    return attach_entries(hook, 0);
}

int carry_hook_attach_entry(struct carry_hook *hook, void (*function)(void)) {
    return function ? attach_entries(hook, (uintptr_t)function) : CARRY_ERROR_INVALID;
}

/* --- Lists --- */

void carry_entry_places(bool (*tell)(const struct carry_hook_place *place, void *user), void *user,
                        bool *wants_more) {
    for (const struct entries *entries = all_entries; entries; entries = entries->next)
        for (const struct carry_hook_block *block = entries->blocks; block; block = block->next)
            for (size_t i = 0; i < block->used && *wants_more; i++)
                *wants_more = tell(&block->points[i].place, user);
}
