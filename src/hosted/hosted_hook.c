/* SPDX-License-Identifier: MIT */
/* The host of `hook` in a Linux process: the dynamic linker's objects, and memory. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/hook_host.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hosted/hosted_patch.h"

#define NEAR_STEP (UINT64_C(16) << 20)

/* Weak, so that this file does not add a dynamic linker to static programs: these functions are
 * NULL there. dlvsym() is NULL if the C library has no versions. */
#pragma weak dlopen
#pragma weak dlclose
#pragma weak dlinfo
#pragma weak dlsym
extern void *dlvsym(void *handle, const char *symbol, const char *version) __attribute__((weak));

_Thread_local struct carry_host_hook_thread carry_host_hook_thread;

bool carry_host_hook_inside(bool inside) {
    bool before = carry_host_hook_thread.inside;
    carry_host_hook_thread.inside = inside;
    return before;
}

int *carry_host_errno(void) {
    return &errno;
}

/* --- Objects --- */

/*
 * glibc lists the program with the name "", and omits it from the objects of a dlmopen() namespace.
 * musl lists it first, under the path that started it or another, and dlopen() finds it under
 * neither.
 */
#ifdef __GLIBC__
#define LISTS_PROGRAM_BY_PATH false
#else
#define LISTS_PROGRAM_BY_PATH true
#endif

static const char program_name[] = "";

/* Returns the name of an object. `index` is its position in the linker's list. */
static const char *object_name(const struct dl_phdr_info *info, size_t index) {
    bool is_program = !info->dlpi_name || !*info->dlpi_name || (LISTS_PROGRAM_BY_PATH && !index);
    return is_program ? program_name : info->dlpi_name;
}

struct census {
    struct carry_host_objects *objects; /* NULL: count only */
    char *names;
    size_t capacity, name_capacity;
    size_t count, name_bytes;
};

/*
 * Adds an object to the census. The dynamic linker calls this function under a lock, and its other
 * locks must not be taken under that lock. So names are copied: once the lock is released, objects
 * may be unloaded.
 */
static int note_loaded_object(struct dl_phdr_info *info, size_t size, void *context) {
    struct census *census = context;
    const char *name = object_name(info, census->count);
    size_t bytes = strlen(name) + 1;
    (void)size;
    if (census->count < census->capacity && census->name_bytes + bytes <= census->name_capacity) {
        char *copy = memcpy(census->names + census->name_bytes, name, bytes);
        census->objects->items[census->objects->count++] = (struct carry_host_object){
            .name = copy,
            .base = info->dlpi_addr,
            .segments = info->dlpi_phdr,
            .segment_count = info->dlpi_phnum,
        };
    }
    census->count++;
    census->name_bytes += bytes;
    return 0;
}

/* Returns a list of all objects that are loaded at one time, or NULL if there is no memory. Their
 * names follow in the same memory. */
static struct carry_host_objects *list_loaded_objects(void) {
    struct census census = {0};
    dl_iterate_phdr(note_loaded_object, &census);
    for (;;) {
        const size_t items = census.count * sizeof(struct carry_host_object);
        census = (struct census){
            .objects = malloc(sizeof *census.objects + items + census.name_bytes),
            .capacity = census.count,
            .name_capacity = census.name_bytes,
        };
        if (!census.objects)
            return NULL;
        census.objects->next = NULL;
        census.objects->count = 0;
        census.names = (char *)census.objects->items + items;
        dl_iterate_phdr(note_loaded_object, &census);
        if (census.objects->count == census.count)
            return census.objects;
        free(census.objects); /* more objects were loaded in between */
    }
}

/* Keeps an object loaded. Returns false if it was unloaded, or cannot be opened: it belongs to
 * another namespace, or to the kernel. */
static bool keep_object(struct carry_host_object *object) {
    const struct link_map *map;
    object->handle = dlopen(*object->name ? object->name : NULL, RTLD_LAZY | RTLD_NOLOAD);
    if (!object->handle)
        return false;
    if (!dlinfo(object->handle, RTLD_DI_LINKMAP, &map) && map->l_addr == object->base) {
        object->name = *object->name ? map->l_name : program_name;
        return true;
    }
    dlclose(object->handle);
    return false;
}

static struct carry_host_objects *list_kept_objects(void) {
    struct carry_host_objects *objects = list_loaded_objects();
    if (!objects)
        return NULL;
    size_t kept = 0;
    for (size_t i = 0; i < objects->count && dlopen; i++)
        if (keep_object(&objects->items[i]))
            objects->items[kept++] = objects->items[i];
    objects->count = kept;
    return objects;
}

static void release_unused_objects(struct carry_host_objects *objects) {
    size_t kept = 0;
    for (size_t i = 0; i < objects->count; i++)
        if (objects->items[i].used)
            objects->items[kept++] = objects->items[i];
        else
            dlclose(objects->items[i].handle);
    objects->count = kept;
}

static void release_objects(struct carry_host_objects *objects) {
    for (size_t i = 0; i < objects->count; i++)
        dlclose(objects->items[i].handle);
    free(objects);
}

/* --- Functions --- */

/* Returns the segment of an object that contains `address`, or NULL. */
static const ElfW(Phdr) * segment_at(const struct dl_phdr_info *info, uintptr_t address) {
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD &&
            address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return segment;
    }
    return NULL;
}

static bool object_contains(const struct carry_host_object *object, uintptr_t address) {
    const struct dl_phdr_info info = {
        .dlpi_addr = object->base,
        .dlpi_phdr = object->segments,
        .dlpi_phnum = (ElfW(Half))object->segment_count,
    };
    return segment_at(&info, address);
}

static uintptr_t look_up_symbol(void *handle, const char *symbol, const char *version) {
    return (uintptr_t)(*version && dlvsym ? dlvsym(handle, symbol, version)
                                          : dlsym(handle, symbol));
}

/* Returns a function in the scope of an object, or 0: searches the global scope, then the object
 * and its dependencies; with `own_first` (DT_SYMBOLIC) the object itself before these. */
static uintptr_t bind_function(const struct carry_host_object *object, const char *symbol,
                               const char *version, bool own_first) {
    uintptr_t own = own_first ? look_up_symbol(object->handle, symbol, version) : 0;
    if (own && object_contains(object, own))
        return own;
    void *global = dlopen(NULL, RTLD_LAZY);
    uintptr_t function = look_up_symbol(global, symbol, version);
    dlclose(global);
    return function ? function : look_up_symbol(object->handle, symbol, version);
}

/* --- Text --- */

struct search {
    uintptr_t address;
    size_t index;
    struct carry_host_text_range *range;
};

static int search_object(struct dl_phdr_info *info, size_t size, void *context) {
    struct search *search = context;
    const char *name = object_name(info, search->index++);
    const ElfW(Phdr) *segment = segment_at(info, search->address);
    (void)size;
    if (!segment || !(segment->p_flags & PF_X) || !(segment->p_flags & PF_R))
        return 0;
    uintptr_t low = info->dlpi_addr + segment->p_vaddr;
    *search->range = (struct carry_host_text_range){name, low, low + segment->p_memsz};
    return 1;
}

static bool find_text(uintptr_t address, struct carry_host_text_range *range) {
    struct search search = {.address = address, .range = range};
    return dl_iterate_phdr(search_object, &search);
}

/* --- Memory --- */

static bool protect_data(uintptr_t low, uintptr_t high, bool writable) {
    return !mprotect((void *)low, high - low, writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

static uint8_t *reserve_at(uintptr_t address, size_t size) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    flags |= address ? MAP_FIXED_NOREPLACE : 0;
    uint8_t *memory = mmap((void *)address, size, PROT_NONE, flags, -1, 0);
    if (memory == MAP_FAILED || !address || (uintptr_t)memory == address)
        return memory == MAP_FAILED ? NULL : memory;
    munmap(memory, size); /* kernels before 4.17 ignore the flag */
    return NULL;
}

/* Reserves memory at increasing distances above and below `near`, rounded down to a step; anywhere
 * if `near` is 0. Returns its address, or NULL. */
static uint8_t *reserve_near(uintptr_t near, uintptr_t reach, size_t size) {
    uint8_t *memory = near ? NULL : reserve_at(0, size);
    for (uintptr_t away = NEAR_STEP; near && !memory && away + NEAR_STEP < reach;
         away += NEAR_STEP) {
        uintptr_t middle = near & ~(NEAR_STEP - 1);
        memory = reserve_at(middle + away, size);
        if (!memory && middle > away)
            memory = reserve_at(middle - away, size);
    }
    return memory;
}

/* Writes text to a file and maps the file, so that the text is never writable and executable at
 * once. Returns false on failure. */
static bool map_file(uint8_t *place, const void *text, size_t size) {
    int fd = carry_text_file();
    if (fd < 0)
        return false;
    bool ok =
        write(fd, text, size) == (ssize_t)size &&
        mmap(place, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED;
    close(fd);
    return ok;
}

/* Writes text to memory before it becomes executable. Returns false on failure. Called if
 * map_file() fails: systems that forbid this step support files in memory. */
static bool fill_memory(uint8_t *place, const void *text, size_t size) {
    if (mprotect(place, size, PROT_READ | PROT_WRITE))
        return false;
    memcpy(place, text, size);
    if (mprotect(place, size, PROT_READ | PROT_EXEC))
        return false;
    __builtin___clear_cache((char *)place, (char *)place + size);
    return true;
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, carry_hook_forked);
}

/*
 * Maps text and data. Returns the address of the text, or NULL. Also watches forks, because the
 * data contains points, and points count threads.
 */
static void *map_block(uintptr_t near, uintptr_t reach, const void *text, size_t text_size,
                       size_t data_size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const size_t inside = carry_page_bytes() - 1, room = (text_size + inside) & ~inside;
    pthread_once(&once, watch_forks);
    uint8_t *memory = reserve_near(near, reach, room + data_size);
    if (!memory)
        return NULL;
    if ((map_file(memory, text, text_size) || fill_memory(memory, text, text_size)) &&
        !mprotect(memory + room, data_size, PROT_READ | PROT_WRITE))
        return memory;
    munmap(memory, room + data_size);
    return NULL;
}

const struct carry_hook_host *carry_host_hook(void) {
    static const struct carry_hook_host host = {
        .list = list_kept_objects,
        .release_unused = release_unused_objects,
        .release_all = release_objects,
        .find = bind_function,
        .text_at = find_text,
        .is_readable = carry_ucontext_is_readable,
        .page_bytes = carry_page_bytes,
        .protect = protect_data,
        .map = map_block,
    };
    return &host;
}
