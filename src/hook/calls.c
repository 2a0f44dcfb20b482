/* SPDX-License-Identifier: MIT */
/*
 * Hooks of calls. Calls of the dynamic linker (to list objects and look up functions) come first,
 * without the lock: a thread that loads an object holds the linker's lock, and constructors then
 * take the library's.
 */
#include "hook/hook_internal.h"

#include "hook/elf.h"

/* --- Functions that cannot be hooked --- */

/*
 * Checks for functions that must return to their caller directly. They return twice, the second
 * time when the thunk's frame is gone; or they may use the return address to find the object or the
 * function that calls them.
 */
static bool needs_its_caller(const char *symbol) {
    static const char *const names[] = {
        "setjmp",  "_setjmp", "sigsetjmp",  "__sigsetjmp", "getcontext", "vfork",
        "__vfork", "dlopen",  "dlmopen",    "dlsym",       "dlvsym",     "_dl_addr",
        "mcount",  "_mcount", "__fentry__", "dlerror",
    };
    size_t i = 0;
    while (i < sizeof names / sizeof *names && !carry_is_same(names[i], symbol))
        i++;
    return i < sizeof names / sizeof *names;
}

/* --- The imports of all objects --- */

static struct carry_hook_place import_place(const struct carry_host_object *object,
                                            const struct carry_elf_import *import) {
    return (struct carry_hook_place){
        .kind = CARRY_HOOK_CALL,
        .object = object->name,
        .symbol = import->symbol,
        .version = import->version,
        .function = import->bound ? import->value : 0,
        .address = (uintptr_t)import->slot,
        .by_plt = import->by_plt,
    };
}

static void open_elf(struct carry_elf *elf, const struct carry_host_object *object) {
    carry_elf_open(elf, object->base, object->segments, object->segment_count);
}

int carry_call_places(bool (*tell)(const struct carry_hook_place *place, void *user), void *user,
                      bool *wants_more) {
    struct carry_host_objects *objects = carry_host_hook()->list();
    if (!objects)
        return CARRY_ERROR_MEMORY;
    for (size_t i = 0; i < objects->count && *wants_more; i++) {
        struct carry_elf elf;
        struct carry_elf_cursor cursor = {0, 0};
        struct carry_elf_import import;
        open_elf(&elf, &objects->items[i]);
        while (*wants_more && carry_elf_next(&elf, &cursor, &import)) {
            const struct carry_hook_place place = import_place(&objects->items[i], &import);
            *wants_more = tell(&place, user);
        }
    }
    carry_host_hook()->release_all(objects);
    return CARRY_OK;
}

/* --- Calls that match a hook --- */

/* A call that matches a hook. */
struct match {
    struct carry_host_object *object;
    struct carry_hook_place place;
    uintptr_t seen; /* the value of the slot */
    bool constant;
    bool variant;
};

struct matches {
    struct match *items;
    size_t count, capacity;
    size_t skipped;
};

static bool make_room_for_match(struct matches *matches) {
    if (matches->count < matches->capacity)
        return true;
    size_t capacity = matches->capacity ? 2 * matches->capacity : 64;
    struct match *items = carry_host_text()->allocate(capacity * sizeof *items);
    if (!items)
        return false;
    if (matches->capacity) {
        __builtin_memcpy(items, matches->items, matches->count * sizeof *items);
        carry_host_text()->release(matches->items, matches->capacity * sizeof *items);
    }
    matches->items = items;
    matches->capacity = capacity;
    return true;
}

static int add_match(struct matches *matches, const struct carry_hook *hook,
                     struct carry_host_object *object, const struct carry_elf *elf,
                     const struct carry_elf_import *import) {
    struct match match = {
        .object = object,
        .place = import_place(object, import),
        .seen = import->value,
        .constant = import->constant,
        .variant = import->variant,
    };
    if (!carry_hook_matches(hook, &match.place))
        return CARRY_OK;
    if (!import->bound)
        match.place.function =
            carry_host_hook()->find(object, import->symbol, import->version, elf->own_first);
    if (!match.place.function || (hook->leave && needs_its_caller(import->symbol))) {
        matches->skipped++;
        return CARRY_OK;
    }
    if (!make_room_for_match(matches))
        return CARRY_ERROR_MEMORY;
    matches->items[matches->count++] = match;
    return CARRY_OK;
}

static int find_matches(struct matches *matches, const struct carry_hook *hook,
                        struct carry_host_objects *objects) {
    int error = CARRY_OK;
    for (size_t i = 0; i < objects->count && !error; i++) {
        struct carry_elf elf;
        struct carry_elf_cursor cursor = {0, 0};
        struct carry_elf_import import;
        open_elf(&elf, &objects->items[i]);
        while (!error && carry_elf_next(&elf, &cursor, &import))
            error = add_match(matches, hook, &objects->items[i], &elf, &import);
    }
    return error;
}

/* --- Slots --- */

/* The page of slots that is writable. Most points are in the order of their slots, so it is enough
 * to keep one page open. */
struct open_page {
    uintptr_t address; /* 0: none */
    size_t bytes;
};

static struct open_page no_page(void) {
    return (struct open_page){0, carry_host_hook()->page_bytes()};
}

static void close_page(struct open_page *page) {
    if (page->address)
        carry_host_hook()->protect(page->address, page->address + page->bytes, false);
    page->address = 0;
}

static bool open_slot(struct open_page *page, const struct carry_hook_point *point) {
    uintptr_t address = point->place.address & ~(page->bytes - 1);
    if (!point->constant || address == page->address)
        return true;
    close_page(page);
    if (!carry_host_hook()->protect(address, address + page->bytes, true))
        return false;
    page->address = address;
    return true;
}

static uintptr_t *point_slot(const struct carry_hook_point *point) {
    return (uintptr_t *)point->place.address;
}

static uintptr_t point_target(const struct carry_hook_point *point) {
    return (uintptr_t)point->thunk.target;
}

static bool replace_slot(const struct carry_hook_point *point, uintptr_t from, uintptr_t to) {
    return __atomic_compare_exchange_n(point_slot(point), &from, to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

/* Stores the stub in a slot that has not changed since it was read, or that the linker has bound
 * since then. Keeps any other value. */
static void put_stub(const struct carry_hook_point *point) {
    if (!replace_slot(point, point->seen, point->stub))
        replace_slot(point, point_target(point), point->stub);
}

/* Restores the function in a slot. Returns false if it holds neither the stub nor the function. */
static bool remove_stub(const struct carry_hook_point *point) {
    return replace_slot(point, point->stub, point_target(point)) ||
           __atomic_load_n(point_slot(point), __ATOMIC_RELAXED) == point_target(point);
}

int carry_slots_restore(const struct carry_hook_point *points) {
    struct open_page page = no_page();
    int error = CARRY_OK;
    for (const struct carry_hook_point *point = points; point; point = point->next) {
        if (point->place.kind != CARRY_HOOK_CALL)
            continue;
        if (!open_slot(&page, point))
            error = CARRY_ERROR_PERMISSION;
        else if (!remove_stub(point) && !error)
            error = CARRY_ERROR_BYTES;
    }
    close_page(&page);
    return error;
}

static int put_stubs(const struct carry_hook_point *points) {
    struct open_page page = no_page();
    bool ok = true;
    for (const struct carry_hook_point *point = points; point && ok; point = point->next) {
        if (point->place.kind != CARRY_HOOK_CALL)
            continue;
        ok = open_slot(&page, point);
        if (ok)
            put_stub(point);
    }
    close_page(&page);
    return ok ? CARRY_OK : CARRY_ERROR_PERMISSION;
}

/* --- Attaching --- */

/* Checks whether two places with the same slot and function are in the same object: another object
 * may have been loaded where an unloaded one was. */
static bool is_of_same_object(const struct carry_hook_place *a, const struct carry_hook_place *b) {
    return a->object == b->object && a->symbol == b->symbol && a->version == b->version;
}

static int plan_match(struct carry_hook_plan *plan, const struct carry_hook *hook,
                      const struct match *match) {
    struct carry_hook_point *point = carry_point_at(match->place.address);
    if (point) {
        plan->present += point->hook == hook;
        plan->skipped += point->hook != hook;
        return CARRY_OK;
    }
    point = carry_point_make(match->place.address, match->place.function);
    if (!point)
        return CARRY_ERROR_PERMISSION;
    if (point->planned) { /* planned for another relocation of the slot, or being detached */
        plan->skipped += point->hook != hook;
        return CARRY_OK;
    }
    if (!is_of_same_object(&point->place, &match->place)) /* callbacks may be reading it */
        point->place = match->place;
    point->seen = match->seen;
    point->constant = match->constant;
    point->whole = match->variant;
    match->object->used = true;
    carry_plan_add(plan, point, hook);
    return CARRY_OK;
}

static int attach_matches(struct carry_hook *hook, const struct matches *matches) {
    struct carry_hook_plan plan;
    carry_plan_start(&plan);
    plan.skipped = matches->skipped;
    int error = put_stubs(hook->points); /* the linker may have bound slots over these stubs */
    for (size_t i = 0; i < matches->count && !error; i++)
        error = plan_match(&plan, hook, &matches->items[i]);
    if (!error) {
        error = put_stubs(plan.first);
        if (error)
            carry_slots_restore(plan.first);
    }
    return carry_plan_finish(&plan, hook, error);
}

static int find_and_attach(struct carry_hook *hook, struct carry_host_objects *objects) {
    struct matches matches = {0};
    int error = find_matches(&matches, hook, objects);
    if (!error) {
        carry_host_text()->lock();
        error = attach_matches(hook, &matches);
        carry_host_text()->unlock();
    }
    if (matches.capacity)
        carry_host_text()->release(matches.items, matches.capacity * sizeof *matches.items);
    return error;
}

/* Attaches a hook. Objects with hooked calls stay loaded until the hook is detached. Returns 0 or
 * an error. */
static int attach_calls(struct carry_hook *hook) {
    struct carry_host_objects *objects = carry_host_hook()->list();
    if (!objects)
        return CARRY_ERROR_MEMORY;
    int error = find_and_attach(hook, objects);
    if (error) {
        carry_host_hook()->release_all(objects);
        return error;
    }
    carry_host_hook()->release_unused(objects);
    objects->next = hook->objects;
    hook->objects = objects;
    return error;
}

int carry_hook_attach_calls(struct carry_hook *hook) {
    int error = carry_hook_check(hook);
    if (error)
        return error;
    bool inside = carry_host_hook_thread.inside; /* true in a callback */
    carry_host_hook_thread.inside = true;
    error = attach_calls(hook);
    carry_host_hook_thread.inside = inside;
    return error;
}
