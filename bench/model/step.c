/* SPDX-License-Identifier: MIT */
/*
 * Prints which instructions a call executes. Its standard input has lines
 *
 *     skip ADDRESS BYTES 0 0 0        from now on these bytes do nothing
 *     call FUNCTION ARGUMENT...       a function and four arguments; the function may take fewer
 *
 * of hexadecimal numbers. For each call, it prints one line: the addresses that were executed.
 * Addresses come from this program's symbols; `source` and `target` are for arguments.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define BUFFER_BYTES (1 << 20)
#define STEPS_MAX    (1 << 18)
#define PAGE_BYTES   4096
#define NOP          0x90
#define WORDS        5

extern uint8_t source[], target[];
__attribute__((aligned(PAGE_BYTES))) uint8_t source[BUFFER_BYTES], target[BUFFER_BYTES];

static volatile uintptr_t steps[STEPS_MAX]; /* written by the signal handler */
static volatile size_t step_count;

static void on_step(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    const ucontext_t *thread = context;
    if (step_count < STEPS_MAX)
        steps[step_count++] = (uintptr_t)thread->uc_mcontext.gregs[REG_RIP];
}

/* Calls a function with the trap flag set: the CPU traps after each instruction of the function,
 * and after some instructions of call_stepped() itself. */
__attribute__((noinline)) static void call_stepped(const uintptr_t words[WORDS]) {
    uintptr_t first = words[1], second = words[2], third = words[3], fourth = words[4];
    __asm__ volatile("pushfq\n\t"
                     "orl $0x100, (%%rsp)\n\t"
                     "popfq\n\t"
                     "call *%[function]\n\t"
                     "pushfq\n\t"
                     "andl $~0x100, (%%rsp)\n\t"
                     "popfq"
                     : "+D"(first), "+S"(second), "+d"(third), "+c"(fourth)
                     : [function] "b"(words[0])
                     : "rax", "r8", "r9", "r10", "r11", "memory", "cc");
}

static void answer(const uintptr_t words[WORDS]) {
    step_count = 0;
    call_stepped(words);
    for (size_t i = 0; i < step_count; i++)
        printf("%" PRIxPTR " ", steps[i]);
    puts("");
}

static int skip_bytes(uintptr_t at, uintptr_t bytes) {
    uintptr_t page = at & -(uintptr_t)PAGE_BYTES;
    if (mprotect((void *)page, at + bytes - page, PROT_READ | PROT_WRITE | PROT_EXEC))
        return 0;
    memset((void *)at, NOP, bytes);
    return 1;
}

static int read_words(uintptr_t words[WORDS]) {
    for (size_t i = 0; i < WORDS; i++)
        if (scanf("%" SCNxPTR, &words[i]) != 1)
            return 0;
    return 1;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    uintptr_t words[WORDS];
    char verb[8];
    int works = !sigaction(SIGTRAP, &action, NULL);
    while (works && scanf("%7s", verb) == 1) {
        works = read_words(words);
        if (!strcmp(verb, "skip"))
            works = works && skip_bytes(words[0], words[1]);
        else if (works)
            answer(words);
    }
    return !works;
}
