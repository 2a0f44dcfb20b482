/* SPDX-License-Identifier: MIT */
/*
 * Runs mutants of kernels on this CPU, each in a child process, and compares them with plain C.
 *
 * usage: refute LIBRARY < LINES
 *
 * A line has the form of a kernel, its offset in the library, the offset of the change, and bytes:
 *
 *     sum 4c80 4c93 660fefc0
 *
 * For each line, the program prints `right CALLS`, or `wrong CALLS REASON` with the number of right
 * calls before the first wrong one. General registers and masks have random values before each
 * call, vectors before about half of the calls. Before the other calls the upper halves of vectors
 * are clean, if the CPU can report whether they remain so. Inaccessible pages surround all memory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE        4096u
#define MOST        (6u << 20)
#define ROOM        (MOST + 2 * PAGE)
#define STACK_ROOM  (4 * PAGE)
#define FRINGE      256u /* bytes around a target that are also compared */
#define CPU_SECONDS 3
#define SMALL       300u
#define MODULUS     0xffffu
#define DIRTY       0x44u /* bits of XINUSE: the upper halves of the first 16 vectors */

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R12 = 12, R15 = 15, FLAGS };

/* The registers of a call, in the layout of meanings_x86_64.S. */
struct block {
    uint64_t general[24];
    uint64_t masks[8];
    uint64_t vectors[32][8];
};

extern struct block meanings_block;
extern char meanings_back[];
void meanings_run(const void *code, int vectors);

enum form { SUM, SUM_COPY, SUM_COPY_TRY, COPY, COPY_TRY, COPY_MOVE, CRC32C, FORMS };
static const char *const form_names[FORMS] = {"sum",      "sum_copy",  "sum_copy_try", "copy",
                                              "copy_try", "copy_move", "crc32c"};

struct call {
    enum form form;
    size_t size;
    uint32_t seed;
    unsigned char *dst;
    const unsigned char *src;
};

static const void *code;
static int vectors = 16;
static bool has_xinuse;
static unsigned char *data;   /* read-only while kernels run */
static unsigned char *target; /* the target of copies */
static unsigned char *stack;
static unsigned char expected[ROOM];
static uint32_t crc_table[256];
static uint64_t random_state = 0x9e3779b97f4a7c15u;
static unsigned long calls;
static unsigned long *shared_calls;
static char *shared_reason;

static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Ends the child and reports that the kernel is wrong. */
static void fail_kernel(const char *reason) {
    snprintf(shared_reason, 64, "%s", reason);
    _exit(1);
}

static unsigned char *map_guarded(size_t room) {
    unsigned char *start =
        mmap(NULL, room + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED || mprotect(start + PAGE, room, PROT_READ | PROT_WRITE) != 0) {
        perror("refute");
        exit(2);
    }
    return start + PAGE;
}

static uint64_t plain_sum(const unsigned char *bytes, size_t size, uint32_t seed) {
    uint64_t sum = seed;
    for (size_t i = 0; i + 1 < size; i += 2) {
        uint16_t word;
        memcpy(&word, bytes + i, 2);
        sum += word;
    }
    return size % 2 ? sum + bytes[size - 1] : sum;
}

static uint32_t plain_crc(const unsigned char *bytes, size_t size, uint32_t crc) {
    crc = ~crc;
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ crc_table[(crc ^ bytes[i]) & 0xff];
    return ~crc;
}

static void make_crc_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
        crc_table[i] = crc;
    }
}

static bool is_crc(const struct call *call) {
    return call->form == CRC32C;
}

static bool copies(const struct call *call) {
    return call->form != SUM && !is_crc(call);
}

static bool sums(const struct call *call) {
    return call->form <= SUM_COPY_TRY;
}

/* Sets the registers of a call: arguments in the order of the ABI, and random values in the other
   general registers, in masks and, unless `clean`, in vectors. */
static void set_registers(const struct call *call, bool clean) {
    static const int order[] = {RDI, RSI, RDX, RCX};
    struct block *block = &meanings_block;
    int next = 0;
    for (int i = 0; i <= R15; i++)
        block->general[i] = next_random();
    for (int i = 0; i < 8; i++)
        block->masks[i] = next_random();
    if (!clean)
        for (int i = 0; i < 32; i++)
            for (int j = 0; j < 8; j++)
                block->vectors[i][j] = next_random();
    if (copies(call))
        block->general[order[next++]] = (uintptr_t)call->dst;
    block->general[order[next++]] = (uintptr_t)call->src;
    block->general[order[next++]] = call->size;
    if (sums(call) || is_crc(call))
        block->general[order[next]] = next_random() << 32 | call->seed;
    unsigned char *top = stack + STACK_ROOM - FRINGE - 8;
    memset(top + 8, 0x5a, FRINGE);
    uint64_t back = (uintptr_t)meanings_back;
    memcpy(top, &back, 8);
    block->general[RSP] = (uintptr_t)top;
    block->general[FLAGS] = 2 | (next_random() & 0x8d5 & ~0x400u);
}

static uint64_t xinuse(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return (uint64_t)high << 32 | low;
}

/* Runs the kernel, and checks that it preserves the state of its caller. */
static void run_kernel(const struct call *call, bool clean) {
    struct block before;
    uint32_t control_before = 0x1f80, control_after;
    set_registers(call, clean);
    before = meanings_block;
    __asm__ volatile("ldmxcsr %0" ::"m"(control_before));
    uint64_t used = 0;
    if (clean && has_xinuse) {
        __asm__ volatile("vzeroupper");
        meanings_run(code, 16);
        used = xinuse();
        __asm__ volatile("vzeroupper");
    } else {
        meanings_run(code, vectors);
    }
    __asm__ volatile("stmxcsr %0" : "=m"(control_after));
    const uint64_t *now = meanings_block.general, *then = before.general;
    if (now[RBX] != then[RBX] || now[RBP] != then[RBP] || now[RSP] != then[RSP] + 8 ||
        memcmp(now + R12, then + R12, 4 * sizeof *now) != 0)
        fail_kernel("a register that callers keep");
    for (unsigned i = 0; i < FRINGE; i++)
        if (stack[STACK_ROOM - FRINGE + i] != 0x5a)
            fail_kernel("the caller's stack");
    if (now[FLAGS] & 0x400)
        fail_kernel("the direction flag");
    if ((control_before ^ control_after) & ~0x3fu)
        fail_kernel("MXCSR");
    if (used & DIRTY)
        fail_kernel("upper halves of vectors");
}

static void check_result(const struct call *call, uint64_t sum) {
    const uint64_t *now = meanings_block.general;
    bool has_left = call->form == SUM_COPY_TRY || call->form == COPY_TRY;
    if (has_left && now[RAX] != 0)
        fail_kernel("bytes are left");
    if (is_crc(call) && (uint32_t)now[RAX] != (uint32_t)sum)
        fail_kernel("the CRC");
    if (!sums(call))
        return;
    uint32_t found = (uint32_t)now[call->form == SUM_COPY_TRY ? RDX : RAX];
    if (found % MODULUS != sum % MODULUS || (found == 0) != (sum == 0))
        fail_kernel("the sum");
}

/* Return the number of compared bytes before and after a target. */
static size_t fringe_before(const unsigned char *dst) {
    size_t room = (size_t)(dst - target);
    return room < FRINGE ? room : FRINGE;
}

static size_t fringe_after(const unsigned char *dst, size_t size) {
    size_t room = (size_t)(target + ROOM - dst) - size;
    return room < FRINGE ? room : FRINGE;
}

static void check_call(const struct call *call, bool clean) {
    uint64_t sum = is_crc(call) ? plain_crc(call->src, call->size, call->seed)
                                : plain_sum(call->src, call->size, call->seed);
    if (!copies(call)) {
        run_kernel(call, clean);
        check_result(call, sum);
    } else {
        size_t before = fringe_before(call->dst), after = fringe_after(call->dst, call->size);
        unsigned char *start = call->dst - before;
        size_t all = before + call->size + after;
        if (call->form != COPY_MOVE)
            memset(start, 0xa5, all);
        memcpy(expected, start, all);
        memcpy(expected + before, call->src, call->size);
        run_kernel(call, clean);
        check_result(call, sum);
        if (memcmp(expected, start, all) != 0)
            fail_kernel("what is copied");
    }
    *shared_calls = ++calls;
}

/* --- Calls: those that refute the most mutants come first --- */

enum content { ANY, ONES, ZEROS, HALF_ONES, CONTENTS };

static void fill_bytes(unsigned char *to, size_t size, enum content content) {
    for (size_t i = 0; i < size; i++)
        to[i] = content == ONES ? 0xff : content == ZEROS ? 0 : i % 2 ? 0x7f : 0xff;
    if (content == ANY)
        for (size_t i = 0; i + 8 <= size; i += 8) {
            uint64_t word = next_random();
            memcpy(to + i, &word, 8);
        }
}

static void set_content(enum content content) {
    mprotect(data, ROOM, PROT_READ | PROT_WRITE);
    fill_bytes(data, ROOM, content);
    mprotect(data, ROOM, PROT_READ);
}

static const uint32_t seeds[] = {0, 1, 0xffff, 0x10000, 0xffffffffu, 0x12345678u};

static uint32_t any_seed(void) {
    return seeds[next_random() % (sizeof seeds / sizeof *seeds)];
}

/* Makes one call. The data lie `at` bytes from the start or the end of their pages, the target up
   to 64 bytes. */
static void check_placed(enum form form, size_t size, size_t at, bool clean) {
    bool at_end = next_random() & 1, dst_at_end = next_random() & 1;
    size_t dst_at = next_random() % 3 ? next_random() % 65 : 0;
    struct call call = {
        .form = form,
        .size = size,
        .seed = any_seed(),
        .src = at_end ? data + ROOM - at - size : data + at,
        .dst = dst_at_end ? target + ROOM - dst_at - size : target + dst_at,
    };
    check_call(&call, clean);
}

/* Makes one move within the pages of the target. The source starts `d` bytes after the move's
   target. */
static void check_placed_move(size_t size, long d, size_t at) {
    unsigned char *middle = target + ROOM / 2 - size / 2 + at;
    fill_bytes(target + ROOM / 2 - size / 2 - FRINGE - 64, size + 2 * FRINGE + 128, ANY);
    if ((size_t)labs(d) > FRINGE)
        fill_bytes(middle + d, size, ANY);
    struct call call = {.form = COPY_MOVE, .size = size, .dst = middle, .src = middle + d};
    check_call(&call, next_random() & 1);
}

static void check_moves(void) {
    static const size_t more[] = {511, 512, 1000, 2047, 4096, 5000, 10000, 70000, 300001};
    for (int round = 0; round < 6; round++)
        for (size_t size = 0; size <= SMALL; size++)
            check_placed_move(size, (long)(next_random() % 400) - 200, next_random() % 64);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        for (int round = 0; round < 20; round++) {
            size_t reach = round % 2 ? 100 : more[i] + 70;
            long d = (long)(next_random() % (2 * reach)) - (long)reach;
            check_placed_move(more[i], d, next_random() % 64);
        }
}

static void check_small(enum form form, enum content content) {
    static const size_t places[] = {0, 1, 2, 3, 15, 31, 32, 33, 63};
    set_content(content);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t size = 0; size <= SMALL; size++)
            check_placed(form, size, places[i], (size + i) % 2);
}

/* Tries sizes around the limits in kernels, and sizes of more than one part. */
static void check_large(enum form form, enum content content) {
    static const size_t sizes[] = {511,    512,    513,    767,    1000,   1023,   1500,   2047,
                                   2048,   2049,   2559,   2560,   4095,   4096,   4097,   8191,
                                   9000,   16384,  32767,  65535,  65536,  65537,  70001,  130815,
                                   130816, 130817, 131072, 131073, 200000, 262143, 300001, 524288};
    static const size_t huge[] = {1048576, 1048579, 3145727, 5242897, MOST};
    set_content(content);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int round = 0; round < 4; round++)
            check_placed(form, sizes[i] - (round == 3 ? 1 + next_random() % 200 : 0),
                         round ? next_random() % 64 : 0, round % 2);
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++)
        check_placed(form, huge[i], next_random() % 64, i % 2);
}

static void check_kernel(enum form form) {
    if (form == COPY_MOVE)
        check_moves();
    for (int content = 0; content < CONTENTS; content++)
        check_small(form, (enum content)content);
    check_large(form, ANY);
    check_large(form, ONES);
}

/* --- Children --- */

static void write_code(unsigned char *at, const char *digits) {
    uintptr_t start = (uintptr_t)at & ~(uintptr_t)(PAGE - 1);
    if (mprotect((void *)start, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        _exit(2);
    unsigned byte;
    for (; sscanf(digits, "%2x", &byte) == 1; digits += 2)
        *at++ = (unsigned char)byte;
}

static void run_child(enum form form, unsigned char *at, const char *digits) {
    struct rlimit limit = {CPU_SECONDS, CPU_SECONDS}, none = {0, 0};
    setrlimit(RLIMIT_CPU, &limit);
    setrlimit(RLIMIT_CORE, &none);
    write_code(at, digits);
    check_kernel(form);
    _exit(0);
}

static void print_verdict(int status) {
    if (WIFSIGNALED(status))
        printf("wrong %lu %s\n", *shared_calls, strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == 0)
        printf("right %lu\n", *shared_calls);
    else
        printf("wrong %lu %s\n", *shared_calls, shared_reason);
    fflush(stdout);
}

static void refute_line(char *line, unsigned char *base) {
    char name[32], digits[64] = "";
    unsigned long function, at;
    if (sscanf(line, "%31s %lx %lx %63s", name, &function, &at, digits) < 3)
        exit(2);
    enum form form = 0;
    while (form < FORMS && strcmp(name, form_names[form]) != 0)
        form++;
    if (form == FORMS)
        exit(2);
    code = base + function;
    *shared_calls = 0;
    strcpy(shared_reason, "an exit without a reason");
    pid_t child = fork();
    if (child == 0)
        run_child(form, base + at, digits);
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(2);
    print_verdict(status);
}

static void detect_vectors(void) {
    if (__builtin_cpu_supports("avx2"))
        vectors = 32;
    if (__builtin_cpu_supports("avx512bw"))
        vectors = 64;
    uint32_t eax = 13, ebx, ecx = 1, edx;
    __asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    has_xinuse = vectors > 16 && eax & 4;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    struct link_map *map;
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
        fprintf(stderr, "refute: %s\n", dlerror());
        return 2;
    }
    detect_vectors();
    make_crc_table();
    data = map_guarded(ROOM);
    target = map_guarded(ROOM);
    stack = map_guarded(STACK_ROOM);
    shared_calls = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared_calls == MAP_FAILED)
        return 2;
    shared_reason = (char *)(shared_calls + 1);
    char line[256];
    while (fgets(line, sizeof line, stdin))
        refute_line(line, (unsigned char *)map->l_addr);
    return 0;
}
