/* SPDX-License-Identifier: MIT */
/*
 * Tests each kernel of sums, CRC32c and copies at all sizes up to SIZE_LAST, sums and copies at
 * several alignments, against an oracle. Also tests Linux's csum_partial(), and the sums of a
 * frame.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <net/checksum.h>

#include "carry_linux.h"
#include "harness/oracle.h"
#include "selftest.h"

#define SIZE_LAST 2048
#define OFFSETS   32
#define SEED      0x12345678u
#define UNTOUCHED 0xee

struct buffers {
    u8 from[OFFSETS + SIZE_LAST + 1];
    u8 to[OFFSETS + SIZE_LAST + 1];
    u32 expected[SIZE_LAST + 1]; /* the sum for each size, from one offset on */
};

static struct buffers *new_buffers(struct carry_test *test) {
    struct buffers *buffers = kvmalloc(sizeof *buffers, GFP_KERNEL);

    if (buffers)
        carry_test_fill(buffers->from, sizeof buffers->from);
    else
        carry_test_fail(test, "no memory");
    return buffers;
}

/* Fills buffers->expected. The oracle adds one byte at a time. */
static void ask_oracle(const struct oracle_kind *kind, struct buffers *buffers, size_t offset) {
    struct oracle oracle = kind->start(SEED);
    size_t size;

    for (size = 0; size <= SIZE_LAST; size++) {
        buffers->expected[size] = kind->value(&oracle);
        kind->byte(&oracle, buffers->from[offset + size]);
    }
}

/* --- Sums --- */

/* Checks sums of all sizes. Calls kernels in sections, and functions of the module and of Linux
 * outside sections. */
static void check_sums(struct carry_test *test, const struct oracle_kind *kind,
                       const struct buffers *buffers, size_t offset, const char *name,
                       carry_sum_fn *sum, bool in_section) {
    size_t size;

    for (size = 0; size <= SIZE_LAST; size++) {
        u32 value;

        if (in_section)
            machine_begin();
        value = kind->fold(sum(buffers->from + offset, size, SEED));
        if (in_section)
            machine_end();
        carry_expect(test, value == buffers->expected[size],
                     "%s of %zu bytes at offset %zu: %x, not %x", name, size, offset, value,
                     buffers->expected[size]);
    }
}

/* Sums with Linux's own function, a second oracle. */
static uint32_t sum_by_linux(const void *data, size_t size, uint32_t sum) {
    return (__force u32)csum_partial(data, size, (__force __wsum)sum);
}

static uint32_t sum_by_module(const void *data, size_t size, uint32_t sum) {
    return (__force u32)carry_csum_partial(data, size, (__force __wsum)sum);
}

void carry_test_sum(struct carry_test *test) {
    struct buffers *buffers = new_buffers(test);
    const struct carry_sum_forms *forms;
    size_t offset, i;

    if (!buffers)
        return;
    for (offset = 0; offset < OFFSETS; offset++) {
        ask_oracle(&oracle_internet, buffers, offset);
        i = 0;
        while ((forms = carry_test_next_sum(&i)))
            check_sums(test, &oracle_internet, buffers, offset, forms->name, forms->sum, true);
        check_sums(test, &oracle_internet, buffers, offset, "Linux", sum_by_linux, false);
        check_sums(test, &oracle_internet, buffers, offset, "module", sum_by_module, false);
        cond_resched();
    }
    kvfree(buffers);
}

void carry_test_crc32c(struct carry_test *test) {
    struct buffers *buffers = new_buffers(test);
    struct carry_sum_kernel kernel;
    size_t i;

    if (!buffers)
        return;
    ask_oracle(&oracle_crc32c, buffers, 1);
    for (i = 0; carry_crc32c_kernel(i, &kernel); i++)
        if (!kernel.missing)
            check_sums(test, &oracle_crc32c, buffers, 1, kernel.name, kernel.sum, true);
    check_sums(test, &oracle_crc32c, buffers, 1, "module", carry_crc32c, false);
    kvfree(buffers);
}

/* --- Copies --- */

static bool is_filled(const u8 *bytes, size_t size) {
    return !memchr_inv(bytes, UNTOUCHED, size);
}

/* Checks the copied bytes, and that no byte around them has changed. */
static void check_copied(struct carry_test *test, const char *name, const struct buffers *buffers,
                         size_t offset, size_t to, size_t size) {
    carry_expect(test, !memcmp(buffers->to + to, buffers->from + offset, size),
                 "%s of %zu bytes from offset %zu to %zu: other bytes", name, size, offset, to);
    carry_expect(test,
                 is_filled(buffers->to, to) &&
                     is_filled(buffers->to + to + size, sizeof buffers->to - to - size),
                 "%s of %zu bytes from offset %zu to %zu: bytes around", name, size, offset, to);
}

/* Returns the offset of the target: it varies with the size. */
static size_t target_of(size_t offset, size_t size) {
    return (offset + 5 * size) % OFFSETS;
}

static void check_sum_copies(struct carry_test *test, struct buffers *buffers, size_t offset,
                             const char *name, carry_sum_copy_fn *copy, bool in_section) {
    size_t size;

    for (size = 0; size <= SIZE_LAST; size++) {
        size_t to = target_of(offset, size);
        u16 value;

        memset(buffers->to, UNTOUCHED, sizeof buffers->to);
        if (in_section)
            machine_begin();
        value = carry_sum_fold(copy(buffers->to + to, buffers->from + offset, size, SEED));
        if (in_section)
            machine_end();
        carry_expect(test, value == buffers->expected[size],
                     "%s of %zu bytes at offset %zu: %x, not %x", name, size, offset, value,
                     buffers->expected[size]);
        check_copied(test, name, buffers, offset, to, size);
    }
}

static uint32_t sum_copy_by_module(void *dst, const void *src, size_t size, uint32_t sum) {
    __wsum copied = carry_csum_partial_copy_nocheck(src, dst, size);

    return (__force u32)csum_add(copied, (__force __wsum)sum);
}

void carry_test_sum_copy(struct carry_test *test) {
    struct buffers *buffers = new_buffers(test);
    const struct carry_sum_forms *forms;
    size_t offset, i;

    if (!buffers)
        return;
    for (offset = 0; offset < OFFSETS; offset += 5) {
        ask_oracle(&oracle_internet, buffers, offset);
        i = 0;
        while ((forms = carry_test_next_sum(&i)))
            check_sum_copies(test, buffers, offset, forms->name, forms->copy, true);
        check_sum_copies(test, buffers, offset, "module", sum_copy_by_module, false);
        cond_resched();
    }
    kvfree(buffers);
}

static void check_copies(struct carry_test *test, struct buffers *buffers, size_t offset,
                         const char *name, carry_copy_fn *copy, bool in_section) {
    size_t size;

    for (size = 0; size <= SIZE_LAST; size++) {
        size_t to = target_of(offset, size);

        memset(buffers->to, UNTOUCHED, sizeof buffers->to);
        if (in_section)
            machine_begin();
        copy(buffers->to + to, buffers->from + offset, size);
        if (in_section)
            machine_end();
        check_copied(test, name, buffers, offset, to, size);
    }
}

void carry_test_copy(struct carry_test *test) {
    struct buffers *buffers = new_buffers(test);
    const struct carry_copy_forms *forms;
    size_t offset, i;

    if (!buffers)
        return;
    for (offset = 0; offset < OFFSETS; offset += 5) {
        i = 0;
        while ((forms = carry_test_next_copy(&i)))
            check_copies(test, buffers, offset, forms->name, forms->copy, true);
        check_copies(test, buffers, offset, "module", carry_copy, false);
        cond_resched();
    }
    kvfree(buffers);
}

/* --- Frames --- */

/* UDP over IPv4 over Ethernet, with the sums of IPv4 and UDP to be filled in. */
#define UDP_BYTES   1000
#define FRAME_BYTES (14 + 20 + UDP_BYTES)

void carry_test_packet(struct carry_test *test) {
    static const u8 headers[] = {
        2,
        0,
        0,
        0,
        0,
        1,
        2,
        0,
        0,
        0,
        0,
        2,
        8,
        0, /* Ethernet */
        0x45,
        0,
        (20 + UDP_BYTES) >> 8,
        (20 + UDP_BYTES) & 255,
        0,
        0,
        0,
        0, /* IPv4 */
        64,
        17,
        0,
        0,
        192,
        0,
        2,
        1,
        192,
        0,
        2,
        2,
        4,
        0,
        8,
        0,
        UDP_BYTES >> 8,
        UDP_BYTES & 255,
        0,
        0, /* UDP */
    };
    struct carry_packet_sum sums[2];
    struct carry_frame frame = {.captured = FRAME_BYTES, .wire = FRAME_BYTES, .linktype = 1};
    u8 *bytes = kmalloc(FRAME_BYTES, GFP_KERNEL);
    const __sum16 *udp_check = (const __sum16 *)(bytes + 14 + 20 + 6);
    __wsum sum;

    if (!bytes) {
        carry_test_fail(test, "no memory");
        return;
    }
    frame.data = bytes;
    carry_test_fill(bytes, FRAME_BYTES);
    memcpy(bytes, headers, sizeof headers);

    carry_expect(test, carry_packet_fill(&frame, NULL, sums, ARRAY_SIZE(sums)) == 2,
                 "two sums are not filled in");
    carry_expect(test, !ip_fast_csum(bytes + 14, 5), "Linux finds IPv4's sum wrong");
    sum = csum_partial(bytes + 14 + 20, UDP_BYTES, 0);
    carry_expect(test,
                 !csum_tcpudp_magic(*(const __be32 *)(bytes + 26), *(const __be32 *)(bytes + 30),
                                    UDP_BYTES, 17, sum),
                 "Linux finds UDP's sum, %04x, wrong", (__force u16)*udp_check);

    bytes[FRAME_BYTES - 1] ^= 1;
    carry_expect(test,
                 carry_packet_check(&frame, NULL, sums, ARRAY_SIZE(sums)) == 2 &&
                     sums[0].verdict == CARRY_VERDICT_GOOD && sums[1].verdict == CARRY_VERDICT_BAD,
                 "a changed bit is not found");
    kfree(bytes);
}
