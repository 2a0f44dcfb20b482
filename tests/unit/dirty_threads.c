/* SPDX-License-Identifier: MIT */
/*
 * Starts threads with known registers, for the tests of `carry xstate who`.
 *
 *     dirty_threads NAME:WAIT:COMPONENTS...
 *
 * Starts a thread for each argument. The thread makes exactly the COMPONENTS dirty, and then sleeps
 * or spins (WAIT) while no code changes its registers. COMPONENTS are xmm, ymm, zmm, k, hi16 and
 * x87, joined by +; "none" is none of them, and "zero" loads zeroes into an xmm register. The
 * program prints "ready", and answers each input line with the number of SIGRTMIN signals received.
 * At the end of the input, all threads compare their registers; the program exits with 0 if no
 * register has changed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>

#define AREA_BYTES   16384
#define HEADER       512
#define HEADER_BYTES 64
#define MXCSR        24
#define PKRU         (UINT64_C(1) << 9)

enum dirt { XMM = 1, YMM = 2, ZMM = 4, K = 8, HI16 = 16, X87 = 32, ZERO = 64 };

static const struct {
    const char *name;
    unsigned dirt;
} names[] = {{"none", 0}, {"xmm", XMM},   {"ymm", YMM}, {"zmm", ZMM},
             {"k", K},    {"hi16", HI16}, {"x87", X87}, {"zero", ZERO}};

struct worker {
    pthread_t thread;
    char name[16];
    int sleeps;
    unsigned dirt;
    int ready;
    int spoiled;
    uint8_t before[AREA_BYTES] __attribute__((aligned(64)));
    uint8_t after[AREA_BYTES] __attribute__((aligned(64)));
};

static int stop;
static volatile sig_atomic_t signals;
static uint8_t initial[AREA_BYTES] __attribute__((aligned(64)));
static uint8_t zeroes[16] __attribute__((aligned(16)));

/*
 * Makes registers dirty, waits and saves them, in one assembly statement, so that neither the
 * compiler nor the C library can use vector registers in between.
 */
static void hold_registers(struct worker *worker) {
    const long futex = SYS_futex, wait = FUTEX_WAIT_PRIVATE;
    __asm__ volatile(
        "mov %[all], %%eax\n mov $-1, %%edx\n xrstor64 %[initial]\n"
        "testl %[xmm], %[dirt]\n jz 1f\n pcmpeqd %%xmm3, %%xmm3\n"
        "1: testl %[ymm], %[dirt]\n jz 1f\n vcmptrueps %%ymm4, %%ymm4, %%ymm4\n"
        "1: testl %[zmm], %[dirt]\n jz 1f\n vpternlogd $255, %%zmm5, %%zmm5, %%zmm5\n"
        "1: testl %[k], %[dirt]\n jz 1f\n kxnorw %%k3, %%k3, %%k3\n"
        "1: testl %[hi16], %[dirt]\n jz 1f\n vpternlogd $255, %%zmm20, %%zmm20, %%zmm20\n"
        "1: testl %[x87], %[dirt]\n jz 1f\n fldpi\n"
        "1: testl %[zero], %[dirt]\n jz 1f\n movaps %[zeroes], %%xmm3\n"
        "1: mov %[all], %%eax\n mov $-1, %%edx\n xsave64 %[before]\n"
        "movl $1, %[ready]\n"
        "2: cmpl $0, %[stop]\n jne 4f\n"
        "testl %[sleeps], %[sleeps]\n jnz 3f\n pause\n jmp 2b\n"
        "3: lea %[stop], %%rdi\n mov %[wait], %%rsi\n xor %%edx, %%edx\n xor %%r10d, %%r10d\n"
        "mov %[futex], %%rax\n syscall\n jmp 2b\n"
        "4: mov %[all], %%eax\n mov $-1, %%edx\n xsave64 %[after]\n"
        "mov %[all], %%eax\n mov $-1, %%edx\n xrstor64 %[initial]\n"
        : [before] "+m"(worker->before), [after] "+m"(worker->after), [ready] "+m"(worker->ready)
        : [initial] "m"(initial), [zeroes] "m"(zeroes), [stop] "m"(stop),
          [sleeps] "r"(worker->sleeps), [dirt] "r"(worker->dirt), [wait] "r"(wait),
          [futex] "r"(futex), [all] "i"((int32_t)~PKRU), [xmm] "i"(XMM), [ymm] "i"(YMM),
          [zmm] "i"(ZMM), [k] "i"(K), [hi16] "i"(HI16), [x87] "i"(X87), [zero] "i"(ZERO)
        : "rax", "rcx", "rdx", "rsi", "rdi", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2",
          "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
          "xmm13", "xmm14", "xmm15");
}

/* Returns whether registers have changed. Components with initial values may drop out of use, so
   the components in use are not compared. */
static int is_spoiled(const struct worker *worker) {
    const size_t end = HEADER + HEADER_BYTES;
    return memcmp(worker->before, worker->after, HEADER) != 0 ||
           memcmp(worker->before + end, worker->after + end, AREA_BYTES - end) != 0;
}

static void *run_worker(void *argument) {
    struct worker *worker = argument;
    prctl(PR_SET_NAME, worker->name);
    hold_registers(worker);
    worker->spoiled = is_spoiled(worker);
    return NULL;
}

static unsigned parse_dirt(char *text) {
    unsigned dirt = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, "+", &rest); word; word = strtok_r(NULL, "+", &rest)) {
        size_t i = 0;
        while (i < sizeof names / sizeof *names && strcmp(names[i].name, word) != 0)
            i++;
        if (i == sizeof names / sizeof *names)
            exit(2);
        dirt |= names[i].dirt;
    }
    return dirt;
}

static struct worker *start_worker(const char *text) {
    char wait[8], components[32];
    struct worker *worker = aligned_alloc(64, (sizeof *worker + 63) & ~(size_t)63);
    if (!worker)
        exit(2);
    memset(worker, 0, sizeof *worker);
    if (sscanf(text, "%15[^:]:%7[^:]:%31s", worker->name, wait, components) != 3)
        exit(2);
    worker->sleeps = strcmp(wait, "sleep") == 0;
    worker->dirt = parse_dirt(components);
    if (pthread_create(&worker->thread, NULL, run_worker, worker) != 0)
        exit(2);
    while (!__atomic_load_n(&worker->ready, __ATOMIC_ACQUIRE))
        usleep(100);
    return worker;
}

static void on_signal(int signal) {
    (void)signal;
    signals++;
}

/* Blocks or unblocks signals, so that only the main thread receives them. */
static void mask_signals(int how) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(how, &all, NULL);
}

int main(int argc, char **argv) {
    const uint32_t mxcsr = 0x1f80;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct worker *workers[argc];
    char line[64];
    int spoiled = 0;
    memcpy(initial + MXCSR, &mxcsr, sizeof mxcsr);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    sigaction(SIGRTMIN, &action, NULL);
    mask_signals(SIG_BLOCK);
    for (int i = 1; i < argc; i++)
        workers[i] = start_worker(argv[i]);
    mask_signals(SIG_UNBLOCK);
    for (puts("ready"); fflush(stdout), fgets(line, sizeof line, stdin);)
        printf("%d\n", (int)signals);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &stop, FUTEX_WAKE_PRIVATE, argc, NULL, NULL, 0);
    for (int i = 1; i < argc; i++) {
        pthread_join(workers[i]->thread, NULL);
        spoiled += workers[i]->spoiled;
        free(workers[i]);
    }
    return spoiled != 0;
}
