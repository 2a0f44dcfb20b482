/* SPDX-License-Identifier: MIT */
/*
 * What `hook` asks of the process that it lives in: its objects, and memory. src/hosted/hook.c
 * answers for Linux with glibc or musl.
 */
#ifndef CARRY_BASE_HOOK_HOST_H
#define CARRY_BASE_HOOK_HOST_H

#include <carry/base.h>

/* A loaded object, as the dynamic linker tells of it. */
struct carry_host_object {
    const char *name;     /* "" for the executable */
    uintptr_t base;       /* what is added to its addresses */
    const void *segments; /* Elf64_Phdr */
    size_t segment_count;
    void *handle; /* keeps it loaded */
    bool used;    /* for whoever asked */
};

/* Text of an object. */
struct carry_host_text_range {
    const char *object;
    uintptr_t low, high;
};

struct carry_host_objects {
    struct carry_host_objects *next; /* for whoever asked */
    size_t count;
    struct carry_host_object items[];
};

/*
 * All but text_at(), page_bytes(), protect() and map() may take the lock that the dynamic linker
 * holds while constructors run: hold none that a constructor takes.
 */
struct carry_hook_host {
    /* All loaded objects, in their order, which stay loaded; NULL if there is no memory. */
    struct carry_host_objects *(*objects)(void);

    /* Lets those go that are not used, or all and frees the list. */
    void (*let_unused_go)(struct carry_host_objects *objects);
    void (*let_go)(struct carry_host_objects *objects);

    /*
     * The function that the dynamic linker would bind an object's import to, or 0. `version` is
     * "" if the object asks for none; `own_first` if its own functions come before all others.
     */
    uintptr_t (*find)(const struct carry_host_object *object, const char *symbol,
                      const char *version, bool own_first);

    /* The text that an address lies in; false if it is not that of an object. */
    bool (*text_at)(uintptr_t address, struct carry_host_text_range *range);

    /* Can the word at an address be read? Asked in any context, and by no call that has hooks. */
    bool (*is_readable)(uintptr_t address);

    /* The size of the system's pages. */
    size_t (*page_bytes)(void);

    /* Makes pages of data writable, or read-only again. */
    bool (*protect)(uintptr_t low, uintptr_t high, bool writable);

    /*
     * Maps `text`, readable and executable and never written again, and zeroed data in the pages
     * behind it. Less than `reach` away from `near`, unless that is 0. Returns its address, or
     * NULL.
     */
    void *(*map)(uintptr_t near, uintptr_t reach, const void *text, size_t text_size,
                 size_t data_size);
};

/* The host of this program. */
const struct carry_hook_host *carry_host_hook(void);

/* In a copy of the process that has this thread alone: the others are in no callback any more. */
void carry_hook_forked(void);

/* What is kept for each thread. */
struct carry_host_hook_thread {
    int *error_number;       /* carry_host_errno() of this thread, once it was asked for */
    const void *counted;     /* the point whose callback it is in, if detaching waits for that */
    uintptr_t readable_page; /* the last behind arguments of a call that could be read, or 0 */
    bool inside;             /* of a callback, or of the library: hooks call nobody back */
};

extern _Thread_local struct carry_host_hook_thread carry_host_hook_thread
    __attribute__((tls_model("initial-exec")));

/*
 * Keeps hooks on this thread from calling anybody back, or lets them again. Returns how it was.
 * Weak, as whoever patches need not have hooks, nor the memory of each thread that they take.
 */
bool carry_host_hook_inside(bool inside) __attribute__((weak));

static inline bool carry_host_go_inside(bool inside) {
    return carry_host_hook_inside ? carry_host_hook_inside(inside) : inside;
}

/* Where this thread has the error number of its last system call: callbacks leave it as it was. */
int *carry_host_errno(void);

#endif
