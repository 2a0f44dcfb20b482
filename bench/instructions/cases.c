/* SPDX-License-Identifier: MIT */
/*
 * Makes the calls whose instructions scripts/check_instructions.py counts. Under callgrind, each
 * case writes one part of the output, named "WORK ON KERNEL". Prints the compiler, and the cases
 * whose kernel cannot run here.
 */
#include <carry/copy.h>
#include <carry/packet.h>
#include <carry/sum.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#include "harness/frame.h"

#define BYTES_MAX     2048
#define BURST_PACKETS 32

static uint8_t source[BYTES_MAX] __attribute__((aligned(64)));
static uint8_t target[BYTES_MAX] __attribute__((aligned(64)));
static struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];

struct work {
    const char *name;
    int (*select)(const char *kernel);
    void (*prepare)(size_t size); /* or NULL */
    void (*run)(size_t size);
};

/* --- Bytes --- */

static void run_sum(size_t size) {
    carry_sum_call(source, size, 0);
}

static void run_sum_copy(size_t size) {
    carry_sum_copy(target, source, size, 0);
}

static void run_copy(size_t size) {
    carry_copy(target, source, size);
}

/* The function in the library: an inlined copy would be part of this program. */
static uint16_t (*const volatile update)(uint16_t check, const void *from, const void *to,
                                         size_t size) = carry_sum_update;

static void run_update(size_t size) {
    update(0x1234, source, target, size);
}

static void run_burst(size_t size) {
    static struct carry_slice slices[BURST_PACKETS];
    static uint32_t seeds[BURST_PACKETS];
    for (size_t i = 0; i < BURST_PACKETS; i++)
        slices[i] = (struct carry_slice){source, size};
    carry_sum_burst(slices, BURST_PACKETS, seeds);
}

static const struct work sum_work = {"sum", carry_sum_select, NULL, run_sum};
static const struct work sum_copy_work = {"sum_copy", carry_sum_select, NULL, run_sum_copy};
static const struct work copy_work = {"copy", carry_copy_select, NULL, run_copy};
static const struct work update_work = {"update", carry_sum_select, NULL, run_update};
static const struct work burst_work = {"burst", carry_sum_select, NULL, run_burst};

/* --- Frames --- */

static struct frame *frame; /* the frame of the case; `target` gets a copy */

static struct carry_frame target_view(void) {
    return (struct carry_frame){
        .data = target,
        .captured = frame->size,
        .wire = frame->size,
        .linktype = frame->linktype,
    };
}

static size_t check_target(void) {
    const struct carry_frame it = target_view();
    return carry_packet_check(&it, NULL, sums, CARRY_PACKET_SUMS_MAX);
}

static void restore_frame(size_t size) {
    memcpy(target, frame->bytes, size);
}

/* Clears all sums, like a sender whose network card fills them in. */
static void clear_sums(size_t size) {
    restore_frame(size);
    for (size_t count = check_target(); count > 0; count--)
        memset(target + sums[count - 1].field_offset, 0, sums[count - 1].field_size);
}

static void damage_good_sum(size_t size) {
    restore_frame(size);
    const struct carry_packet_sum *inner = &sums[check_target() - 1];
    if (inner->verdict == CARRY_VERDICT_GOOD)
        target[inner->field_offset] ^= 1;
}

static void run_check(size_t size) {
    (void)size;
    check_target();
}

static void run_fill(size_t size) {
    (void)size;
    const struct carry_frame it = target_view();
    carry_packet_fill(&it, NULL, sums, CARRY_PACKET_SUMS_MAX);
}

static void run_fix(size_t size) {
    (void)size;
    const struct carry_frame it = target_view();
    carry_packet_fix(&it, NULL, sums, CARRY_PACKET_SUMS_MAX);
}

static const struct work frame_works[] = {
    {"check", carry_sum_select, restore_frame, run_check},
    {"fill", carry_sum_select, clear_sums, run_fill},
    {"fix", carry_sum_select, damage_good_sum, run_fix},
};

static struct frame *tcp4(const char *ethernet, uint32_t data_size) {
    struct frame *made = start(ethernet);
    put_ip(made, TCP, 20 + data_size);
    put_tcp(made, &flow4, data_size);
    return made;
}

static struct frame *make_tcp4(void) {
    return tcp4(ETHERNET4, 0);
}

static struct frame *make_tcp4_full(void) {
    return tcp4(ETHERNET4, 1460);
}

static struct frame *make_udp6(void) {
    struct frame *made = start(ETHERNET6);
    put_ipv6(made, UDP, 108);
    put_udp(made, &flow6, 100);
    return made;
}

static struct frame *make_vlan(void) {
    return tcp4(ETHERNET "8100 0064 0800", 0);
}

static struct frame *make_vxlan(void) {
    enum { INNER_SIZE = 8 + 14 + 20 + 23 }; /* from the header of VXLAN on */
    struct frame *made = start(ETHERNET4);
    put_ip(made, UDP, 8 + INNER_SIZE);
    uint32_t udp = put(made, "c350 12b5 0000 0000 0800 0000 00002a 00");
    set16(made, udp + 4, 8 + INNER_SIZE);
    put(made, ETHERNET4);
    put_inner(made, false);
    seal(made, udp + 6, udp, 8 + INNER_SIZE, pseudo(&flow4, UDP, 8 + INNER_SIZE));
    return made;
}

/* Makes a fragment of a UDP datagram; its flags and offset are `flags_and_place`. */
static struct frame *make_fragment(uint32_t flags_and_place) {
    struct frame *made = start(ETHERNET4);
    uint32_t ip = put_ip(made, UDP, 108);
    put_udp(made, &flow4, 100);
    set16(made, ip + 6, flags_and_place);
    seal_ip(made, ip);
    return made;
}

static struct frame *make_first_fragment(void) {
    return make_fragment(0x2000);
}

static struct frame *make_last_fragment(void) {
    return make_fragment(0x0010);
}

static struct frame *make_partial(void) {
    struct frame *made = tcp4(ETHERNET4, 1460);
    set16(made, 14 + 20 + 16, pseudo(&flow4, TCP, 20 + 1460).sum);
    return made;
}

static const struct {
    const char *name;
    struct frame *(*make)(void);
    size_t sums;
    enum carry_verdict inner;
} frames[] = {
    {"fragment-first", make_first_fragment, 2, CARRY_VERDICT_UNVERIFIABLE},
    {"fragment-last", make_last_fragment, 1, CARRY_VERDICT_GOOD},
    {"ipv4-tcp-40", make_tcp4, 2, CARRY_VERDICT_GOOD},
    {"ipv4-tcp-1500", make_tcp4_full, 2, CARRY_VERDICT_GOOD},
    {"ipv4-tcp-1500-partial", make_partial, 2, CARRY_VERDICT_PARTIAL},
    {"ipv6-udp-148", make_udp6, 1, CARRY_VERDICT_GOOD},
    {"vlan-ipv4-tcp-40", make_vlan, 2, CARRY_VERDICT_GOOD},
    {"vxlan-ipv4-tcp-43", make_vxlan, 4, CARRY_VERDICT_GOOD},
};

/* Returns whether a frame has the number of sums and the innermost verdict that its row states. */
static bool is_as_meant(size_t index) {
    restore_frame(frame->size);
    return check_target() == frames[index].sums &&
           sums[frames[index].sums - 1].verdict == frames[index].inner;
}

/* --- Counting --- */

/* Makes two calls. The first chooses kernels and binds symbols, and only the second is counted. */
static void count_case(const struct work *work, const char *on, size_t size, const char *kernel) {
    char name[100];
    snprintf(name, sizeof name, "%s %s %s", work->name, on, kernel);
    for (int round = 0; round < 2; round++) {
        if (work->prepare)
            work->prepare(size);
        CALLGRIND_ZERO_STATS;
        work->run(size);
    }
    CALLGRIND_DUMP_STATS_AT(name);
}

static void count_by(const struct work *work, const char *on, size_t size, const char *kernels) {
    char kernel[16];
    for (int used; sscanf(kernels, "%15s%n", kernel, &used) == 1; kernels += used)
        if (work->select(kernel) == 0)
            count_case(work, on, size, kernel);
        else
            printf("missing: %s %s %s\n", work->name, on, kernel);
}

static void count_sizes(const struct work *work, const char *sizes, const char *kernels) {
    char size[16];
    size_t number;
    for (int used; sscanf(sizes, "%15s%n", size, &used) == 1; sizes += used)
        if (sscanf(size, "%zu", &number) == 1)
            count_by(work, size, number, kernels);
}

static void count_frames(const char *kernels) {
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        frame = frames[i].make();
        if (!is_as_meant(i)) {
            fprintf(stderr, "%s is not what it should be\n", frames[i].name);
            exit(1);
        }
        for (size_t work = 0; work < sizeof frame_works / sizeof *frame_works; work++)
            count_by(&frame_works[work], frames[i].name, frame->size, kernels);
    }
}

/* Prints the compiler, and whether it marks jump targets: the compilers of some distributions do so
 * by default. */
static void print_compiler(void) {
#ifdef __clang__
    printf("compiler: " ARCH " clang %d.%d.%d", __clang_major__, __clang_minor__,
           __clang_patchlevel__);
#else
    printf("compiler: " ARCH " gcc %d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
#ifdef __CET__
    printf(" -fcf-protection");
#endif
    printf("\n");
}

int main(void) {
    static const char all[] = "0 1 2 4 8 15 16 20 31 32 40 63 64 100 128 550 1500";
    print_compiler();
    count_sizes(&sum_work, all, "generic adc avx2");
    count_sizes(&sum_copy_work, all, "generic adc avx2");
    count_sizes(&copy_work, all, "generic avx2");
    count_sizes(&update_work, "2 4 6 8 16 40", "adc avx2");
    count_sizes(&burst_work, "40 64 550 1500", "adc avx2");
    count_frames("adc avx2");
    return 0;
}
