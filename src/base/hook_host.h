/* SPDX-License-Identifier: MIT */
/*
 * Functions that `hook` calls to list objects and to map memory. src/hosted/hosted_hook.c provides
 * them for Linux with glibc or musl.
 */
#ifndef CARRY_BASE_HOOK_HOST_H
#define CARRY_BASE_HOOK_HOST_H

#include <carry/base.h>

/* A loaded object, as the dynamic linker reports it. */
struct carry_host_object {
    const char *name;     /* "" for the executable */
    uintptr_t base;       /* added to the addresses in its file */
    const void *segments; /* Elf64_Phdr */
    size_t segment_count;
    void *handle; /* keeps the object loaded */
    bool used;    /* set by the caller, for release_unused() */
};

/* The text of an object. */
struct carry_host_text_range {
    const char *object;
    uintptr_t low, high;
};

struct carry_host_objects {
    struct carry_host_objects *next; /* for the caller's use */
    size_t count;
    struct carry_host_object items[];
};

/*
 * All functions except text_at(), is_readable(), page_bytes(), protect() and map() may take the
 * lock that the dynamic linker holds while constructors run: the caller must not hold a lock that a
 * constructor takes.
 */
struct carry_hook_host {
    /* Returns all loaded objects in the dynamic linker's order, and keeps them loaded. Returns NULL
     * if there is no memory. */
    struct carry_host_objects *(*list)(void);

    /* release_unused() removes objects without `used`, which may then be unloaded; release_all()
     * removes all and frees the list. */
    void (*release_unused)(struct carry_host_objects *objects);
    void (*release_all)(struct carry_host_objects *objects);

    /*
     * Returns the function to which the dynamic linker would bind an import of `object`, or 0.
     * `version` is "" if the import has none. With `own_first`, the object's own functions are
     * searched first.
     */
    uintptr_t (*find)(const struct carry_host_object *object, const char *symbol,
                      const char *version, bool own_first);

    /* Finds the text that contains `address`. Returns false if no object contains it. */
    bool (*text_at)(uintptr_t address, struct carry_host_text_range *range);

    /* Checks whether the word at `address` can be read. Callable in any context; must not make
     * calls that can be hooked. */
    bool (*is_readable)(uintptr_t address);

    /* Returns the size of the system's pages. */
    size_t (*page_bytes)(void);

    /* Makes pages of data writable, or read-only again. */
    bool (*protect)(uintptr_t low, uintptr_t high, bool writable);

    /*
     * Maps a copy of `text`, readable and executable and never written again, and zeroed data in
     * the pages after it. The mapping is less than `reach` away from `near`, unless `near` is 0.
     * Returns the address of the text, or NULL.
     */
    void *(*map)(uintptr_t near, uintptr_t reach, const void *text, size_t text_size,
                 size_t data_size);
};

/* Returns the host of this program. */
const struct carry_hook_host *carry_host_hook(void);

/* Forgets callbacks on other threads. Called in a forked process, which has only this thread. */
void carry_hook_forked(void);

/* Data of each thread. */
struct carry_host_hook_thread {
    int *error_number;       /* carry_host_errno() of this thread, or NULL before the first call */
    const void *counted;     /* the point whose callback runs, if detaching waits for it */
    uintptr_t readable_page; /* the last page found readable among the words after a call's return
                                address, or 0 */
    bool inside; /* the thread is in a callback or in the library: hooks call no callbacks */
};

extern _Thread_local struct carry_host_hook_thread carry_host_hook_thread
    __attribute__((tls_model("initial-exec")));

/* Sets whether this thread is `inside`, where hooks call no callbacks. Returns the previous state.
 * Weak, so that a program that patches needs neither hooks nor their thread-local memory. */
bool carry_host_hook_inside(bool inside) __attribute__((weak));

static inline bool carry_host_go_inside(bool inside) {
    return carry_host_hook_inside ? carry_host_hook_inside(inside) : inside;
}

/* Returns the address of this thread's errno, which the library preserves around callbacks. */
int *carry_host_errno(void);

#endif
