/* SPDX-License-Identifier: MIT */
/*
 * Counts the sizes that this program asks malloc() for. It hooks the calls of its own code, which
 * was not compiled for hooks.
 *
 * usage: hook [ROUNDS]
 */
#include <carry/carry.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CLASSES 24

struct sizes {
    uint64_t calls;
    uint64_t failures;
    uint64_t classes[CLASSES]; /* [i]: calls for up to 2^i bytes; the last: also for more */
};

/* Adds 1 to a counter; atomic, as threads call back at the same time. */
static void increment(uint64_t *counter) {
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Runs before the call. It may call malloc() itself: such calls are not counted. */
static void note_size(const struct carry_hook_place *place, struct carry_thunk_call *call,
                      void *user) {
    struct sizes *sizes = user;
    size_t class = 0;
    (void)place;
    while (class < CLASSES - 1 && call->integer[0] > UINT64_C(1) << class)
        class ++;
    increment(&sizes->calls);
    increment(&sizes->classes[class]);
}

/* Runs after the call, with the result that the caller gets. */
static void note_result(const struct carry_hook_place *place, struct carry_thunk_call *call,
                        void *user) {
    struct sizes *sizes = user;
    (void)place;
    if (!call->result[0])
        increment(&sizes->failures);
}

static void allocate(unsigned long rounds) {
    for (unsigned long i = 0; i < rounds; i++) {
        void *volatile memory = malloc(1 + i * 37 % 5000); /* so that compilers keep the call */
        free(memory);
    }
}

static void print_sizes(const struct sizes *sizes) {
    printf("%" PRIu64 " calls of malloc, %" PRIu64 " failed\n", sizes->calls, sizes->failures);
    for (size_t i = 0; i < CLASSES; i++)
        if (sizes->classes[i])
            printf("  up to %7lu bytes: %6" PRIu64 "\n", 1UL << i, sizes->classes[i]);
}

int main(int argc, char **argv) {
    static struct sizes sizes;
    struct carry_hook hook = {.object = "", /* only the executable's calls */
                              .symbol = "malloc",
                              .enter = note_size,
                              .leave = note_result,
                              .user = &sizes};
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    int error = carry_hook_attach_calls(&hook);
    if (error == CARRY_ERROR_UNSUPPORTED || error == CARRY_ERROR_UNKNOWN) {
        puts("malloc is not called through a table here: nothing to hook");
        return 0;
    }
    if (error) {
        fprintf(stderr, "malloc cannot be hooked: %s\n", carry_error_text(error));
        return 1;
    }
    allocate(rounds);
    error = carry_hook_detach(&hook);
    allocate(rounds); /* no longer counted */
    print_sizes(&sizes);
    return error || sizes.calls != rounds;
}
