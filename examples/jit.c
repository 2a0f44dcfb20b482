/* SPDX-License-Identifier: MIT */
/*
 * Sends a packet to many addresses. A function that is generated for the fields of the packet
 * writes its source port, its destination and a number in its data each time, and keeps both
 * checksums right. Another function, which is generated for these headers, checks the packets.
 */
#include <carry/jit.h>

#include <stdio.h>
#include <string.h>

#define PACKETS 1000000

/* Ethernet, IPv4, UDP, and 6 bytes of data; checksums are not filled in yet. */
static unsigned char packet[] = {
    2,  0, 0,    0,    0, 1,  2,   0,   0,  0,  0, 2, 8,   0,         /* Ethernet */
    69, 0, 0,    34,   0, 0,  64,  0,   64, 17, 0, 0, 192, 0,   2, 1, /* IPv4 */
    10, 0, 0,    0,                                                   /* IPv4 destination */
    0,  0, 0x1b, 0x58, 0, 14, 255, 255, 0,  0,  0, 0, 'h', 'i',       /* UDP */
};

static const struct carry_jit_field fields[] = {
    {30, 6}, /* IPv4 destination and UDP source port, which are adjacent */
    {42, 4}, /* a number in the data */
};

struct values {
    unsigned char destination[4], port[2], number[4];
};

static void store_number(unsigned char *to, size_t size, unsigned long value) {
    for (; size; value >>= 8)
        to[--size] = (unsigned char)value;
}

static int is_good(const struct carry_packet_sum *sums, int count) {
    return count == 2 && sums[0].verdict == CARRY_VERDICT_GOOD &&
           sums[1].verdict == CARRY_VERDICT_GOOD;
}

static int write_all(carry_jit_write_fn *write, carry_jit_packet_fn *check,
                     const struct carry_frame *frame) {
    struct carry_packet_sum sums[2];
    struct values values;
    for (unsigned long i = 0; i < PACKETS; i++) {
        store_number(values.destination, 4, 0x0a000000 + i);
        store_number(values.port, 2, 49152 + i % 16384); /* not the port of a tunnel */
        store_number(values.number, 4, i);
        write(packet, &values);
        if (!is_good(sums, check(frame, sums, 2)))
            return fprintf(stderr, "packet %lu is wrong\n", i);
    }
    return printf("%d packets with right checksums\n", PACKETS) < 0;
}

int main(void) {
    const struct carry_frame frame = {
        .data = packet, .captured = sizeof packet, .wire = sizeof packet, .linktype = 1};
    const struct carry_jit_template_spec template = {
        .frame = frame, .fields = fields, .count = sizeof fields / sizeof *fields};
    struct carry_jit_packet_spec shape = {0};
    const struct carry_jit *writer = NULL, *checker = NULL;

    carry_packet_fill(&frame, NULL, NULL, 0);
    int error = carry_jit_template(&template, &writer);
    if (!error)
        error = carry_jit_packet_shape(&frame, &shape);
    if (!error)
        error = carry_jit_packet(&shape, &checker);
    int failed = 0;
    if (error == CARRY_ERROR_UNSUPPORTED)
        puts("There is no generator for this architecture");
    else if (error)
        failed = fprintf(stderr, "%s: %s\n", carry_error_name(error), carry_error_text(error));
    else
        failed = write_all(writer->write, checker->packet, &frame);
    carry_jit_release(checker);
    carry_jit_release(writer);
    return failed != 0;
}
