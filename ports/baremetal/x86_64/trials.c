/* SPDX-License-Identifier: MIT */
/*
 * Executes instructions with given registers and memory, and prints the changed words in one line
 * for each trial. The test that made the trials judges these lines.
 */
#include "trials.h"
#include "instead.h"
#include "kernel.h"

#include <string.h>

#define WORD         sizeof(uint64_t)
#define VECTOR_BYTES 64
#define ROOM_MAX     8192
#define ARENA_SHIFT  16 /* printed addresses: arena i begins at (i + 1) << ARENA_SHIFT */

extern const uint8_t trials_start[], trials_end[];
extern uint8_t meanings_block[TRIAL_BLOCK], meanings_back[];
void meanings_run(const void *code, int vectors);

/* Copies the code of a trial, followed by jmp *0(%rip) and the address that this jump reads. */
static void put_code(const struct trials *trials, const uint8_t *code, size_t size) {
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};
    const uint64_t back = (uintptr_t)meanings_back;
    uint8_t *to = (uint8_t *)trials->code;
    memcpy(to, code, size);
    memcpy(to + size, jump, sizeof jump);
    memcpy(to + size + sizeof jump, &back, sizeof back);
}

static uint64_t word_of(const uint8_t *bytes, size_t at) {
    uint64_t word;
    __builtin_memcpy(&word, bytes + at, sizeof word);
    return word;
}

static void print_changed(size_t place, const uint8_t *old, const uint8_t *new, size_t size) {
    for (size_t at = 0; at < size; at += WORD)
        if (word_of(old, at) != word_of(new, at))
            print(" %lx=%lx", place + at, word_of(new, at));
}

/* The initial contents of the arenas. */
static uint8_t before[TRIAL_ARENAS][ROOM_MAX];

static void fill_arena(uint8_t *arena, size_t room, const uint8_t *pattern, size_t size) {
    for (size_t at = 0; at < room; at += size)
        memcpy(arena + at, pattern, size < room - at ? size : room - at);
}

/* Executes a trial. Returns the address of the next one. */
static const uint8_t *run_trial(const struct trials *trials, const struct trial *trial) {
    const uint8_t *code = (const uint8_t *)(trial + 1);
    const uint8_t *pattern = code + trial->code_bytes;
    for (size_t i = 0; i < TRIAL_ARENAS; pattern += trial->pattern_bytes[i++]) {
        fill_arena(before[i], trials->room, pattern, trial->pattern_bytes[i]);
        memcpy((void *)trials->arenas[i], before[i], trials->room);
    }
    memcpy(meanings_block, trial->block, TRIAL_BLOCK);
    put_code(trials, code, trial->code_bytes);
    meanings_run((const void *)trials->code, VECTOR_BYTES);
    print_changed(0, trial->block, meanings_block, TRIAL_BLOCK);
    for (size_t i = 0; i < TRIAL_ARENAS; i++)
        print_changed((i + 1) << ARENA_SHIFT, before[i], (const uint8_t *)trials->arenas[i],
                      trials->room);
    return (const uint8_t *)(((uintptr_t)pattern + WORD - 1) & -WORD);
}

/* Runs all trials, with interrupts off: a trial may change the stack pointer. */
void trials_run(void) {
    const struct trials *trials = (const struct trials *)trials_start;
    const uint8_t *at = (const uint8_t *)(trials + 1);
    uint64_t flags = cpu_interrupts_off();
    if (at < trials_end && trials->room > ROOM_MAX)
        PANIC("trials with arenas of %u bytes", trials->room);
    for (size_t i = 0; at < trials_end && i < trials->count; i++) {
        print("trial %zu:", i);
        at = run_trial(trials, (const struct trial *)at);
        print("\n");
    }
    cpu_interrupts_restore(flags);
}
