/* SPDX-License-Identifier: MIT */
#include "harness/check_template.h"

#include <stdio.h>
#include <string.h>

#include "harness/call.h"
#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/rng.h"

#define ETHERNET4          "[020000000001 020000000002] 0800"
#define ETHERNET6          "[020000000001 020000000002] 86dd"
#define ADDRESSES4         "[c0000201 c6336407]"
#define ADDRESSES6         "[20010db8000000000000000000000001 20010db8000000000000000000000002]"
#define IP(size, protocol) "45[00]" size "[1234] 4000 [40]" protocol "0000" ADDRESSES4

#define ZEROS17  "0000000000000000000000000000000000"
#define ZEROS51  ZEROS17 ZEROS17 ZEROS17
#define ZEROS255 ZEROS51 ZEROS51 ZEROS51 ZEROS51 ZEROS51

const struct template_stack template_stacks[] = {
    {"TCP",
     ETHERNET4 IP("002d", "06") "[0050 c001 01020304 00000000] 50[10 ffff] 0000 [0000 3138454c53]",
     "ip good, tcp good", 0},
    {"UDP", ETHERNET4 IP("0022", "11") "3039 1092 000e ffff [31384553606d]", "ip good, udp good",
     0},
    {"UDP without a checksum", ETHERNET4 IP("0022", "11") "3039 1092 000e 0000 [31384553606d]",
     "ip good, udp absent", 0},
    {"UDP over IPv6",
     ETHERNET6 "60[000000] 000f 11 [40]" ADDRESSES6 "3039 1092 000f ffff [31384553606d74]",
     "udp good", 0},
    {"UDP over IPv6 without a checksum",
     ETHERNET6 "60[000000] 000f 11 [40]" ADDRESSES6 "3039 1092 000f 0000 [31384553606d74]",
     "udp illegal", 0},
    {"TCP in VXLAN",
     ETHERNET4 IP("005d", "11") "[c001] 12b5 0049 ffff 08000000 [123456] 00" ETHERNET4 IP(
         "002b", "06") "[0050 c001 01020304 00000000] 5010 [ffff] 0000 [0000 313845]",
     "ip good, udp good, ip good, tcp good", 0},
    {"UDP without a checksum in VXLAN with one",
     ETHERNET4 IP("0052", "11") "[c001] 12b5 003e ffff 08000000 [123456] 00" ETHERNET4 IP(
         "0020", "11") "3039 1092 000c 0000 [31384553]",
     "ip good, udp good, ip good, udp absent", 0},
    {"UDP over IPv6 in VXLAN over IPv6 without a checksum",
     ETHERNET6 "60[000000] 0052 11 [40]" ADDRESSES6
               "[c001] 12b5 0052 0000 08000000 [123456] 00" ETHERNET6
               "60[000000] 000c 11 [40]" ADDRESSES6 "3039 1092 000c ffff [31384553]",
     "udp absent, udp good", 0},
    {"UDP in VXLAN in VXLAN in VXLAN",
     ETHERNET4 IP("00b4", "11") "[c001] 12b5 00a0 ffff 08000000 [123456] 00" ETHERNET4 IP(
         "0082", "11") "[c001] 12b5 006e ffff 08000000 [123456] 00" ETHERNET4
         IP("0050", "11") "[c001] 12b5 003c ffff 08000000 [123456] 00" ETHERNET4 IP(
             "001e", "11") "3039 1092 000a 0000 [3138]",
     "ip good, udp good, ip good, udp good, ip good, udp good, ip good, udp absent", 0},
    {"TCP in GRE with a checksum and a key",
     ETHERNET4 IP("004b", "2f") "a000 0800 0000 0000 [00000007]" IP(
         "002b", "06") "[0050 c001 01020304 00000000] 5010 [ffff] 0000 [0000 313845]",
     "ip good, gre good, ip good, tcp good", 0},
    {"UDP at odd offsets of L2TP",
     ETHERNET4 IP("0042", "11") "[c001] 06a5 002e ffff 0002 [0011 0022] 21" IP(
         "001f", "11") "3039 1092 000b ffff [313845]",
     "ip good, udp good, ip good, udp good", 0},
    {"TCP after one byte of PPP",
     "21" IP("002b", "06") "[0050 c001 01020304 00000000] 5010"
                           "[ffff] 0000 [0000 313845]",
     "ip good, tcp good", 9},
    {"ICMP of zeros only", ETHERNET4 IP("001e", "01") "0000 0000 [0000 0000 0000]",
     "ip good, icmp good", 0},
    {"a packet that ICMP quotes",
     ETHERNET4 IP("0038", "01") "0301 0000 [00000000]" IP("001c", "11") "3039 1092 0008 ffff",
     "ip good, icmp good, ip good, udp good", 0},
    {"UDP far after options of IPv6",
     ETHERNET6 "60[000000] 0116 00 [40]" ADDRESSES6 "1120 01ff" ZEROS255
               "0103000000 3039 1092 000e ffff [31384553606d]",
     "udp good", 0},
    {"UDP after a routing header",
     ETHERNET6 "60[000000] 0022 2b [40]" ADDRESSES6
               "11 02 00 01 [00000000 20010db8000000000000000000000444] 3039 1092 000a ffff [3138]",
     "udp good", 0},
};
const size_t template_stack_count = sizeof template_stacks / sizeof *template_stacks;

/* --- Packets --- */

static unsigned nibble_value(char c) {
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

struct carry_frame template_frame(const struct template_packet *packet, const void *data) {
    return (struct carry_frame){
        .data = data ? data : packet->bytes,
        .captured = packet->size,
        .wire = packet->size,
        .linktype = packet->linktype,
    };
}

static bool is_wrong(const struct carry_packet_sum *sum) {
    return sum->verdict != CARRY_VERDICT_GOOD && sum->verdict != CARRY_VERDICT_ABSENT &&
           sum->verdict != CARRY_VERDICT_ILLEGAL;
}

void template_seal(const struct carry_frame *frame) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    size_t count = carry_packet_check(frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    for (size_t i = count; i-- > 0; carry_packet_check(frame, NULL, sums, CARRY_PACKET_SUMS_MAX)) {
        if (!is_wrong(&sums[i]))
            continue;
        uint8_t *field = (uint8_t *)(uintptr_t)frame->data + sums[i].field_offset;
        field[0] = (uint8_t)(sums[i].expected >> 8);
        field[1] = (uint8_t)sums[i].expected;
    }
}

void template_packet(struct template_packet *packet, const struct template_stack *stack) {
    bool varies = false;
    packet->size = 0;
    packet->linktype = stack->linktype ? stack->linktype : 1;
    for (const char *c = stack->bytes; *c; c++) {
        if (*c == '[' || *c == ']') {
            varies = *c == '[';
        } else if (*c != ' ') {
            packet->varies[packet->size] = varies;
            packet->bytes[packet->size++] = (uint8_t)(nibble_value(c[0]) << 4 | nibble_value(c[1]));
            c++;
        }
    }
    struct carry_frame frame = template_frame(packet, NULL);
    template_seal(&frame);
}

/* Writes the verdicts of a frame as text, such as "ip good, tcp good". */
static void describe_verdicts(const struct carry_frame *frame, char *text, size_t capacity) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    size_t count = carry_packet_check(frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%s %s", i ? ", " : "",
                                 carry_packet_protocol_name(sums[i].protocol),
                                 carry_packet_verdict_name(sums[i].verdict));
}

/* --- One function --- */

/* A packet that is rewritten, and the written values, each next to guard pages. */
struct scene {
    const struct template_stack *stack;
    struct template_packet packet;
    struct carry_jit_field fields[CARRY_JIT_FIELDS_MAX];
    size_t count;
    uint32_t values_size;
    struct guard packets, values;
    char expected[200];
};

/* Chooses some of the bytes that may vary, in runs of random length. */
static void choose_fields(struct scene *scene) {
    scene->count = 0;
    scene->values_size = 0;
    uint32_t at = 0;
    while (at < scene->packet.size && scene->count < CARRY_JIT_FIELDS_MAX) {
        at += (uint32_t)rng_below(24);
        uint32_t size = 0, most = 1 + (uint32_t)rng_below(20);
        while (at + size < scene->packet.size && scene->packet.varies[at + size] && size < most)
            size++;
        if (size)
            scene->fields[scene->count++] = (struct carry_jit_field){at, size};
        scene->values_size += size;
        at += size ? size : 1;
    }
}

/* Sets or removes the checksums of UDP at random, whether or not the example frame has them. */
static void choose_checksums(const struct carry_frame *frame) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    size_t count = carry_packet_walk(frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        if (sums[i].protocol == CARRY_PROTOCOL_UDP)
            memset((uint8_t *)(uintptr_t)frame->data + sums[i].field_offset, (int)rng_below(2), 2);
    template_seal(frame);
}

/* Fills in values. Extreme values cause the carries and zeros that random ones seldom cause. */
static void choose_values(const struct scene *scene, uint8_t *values) {
    static const int extremes[] = {0, 0xff};
    rng_fill(values, scene->values_size);
    if (rng_below(4) == 0)
        memset(values, extremes[rng_below(2)], scene->values_size);
}

/* Stores in `before` the written values, and the checksums that `now` contains. */
static void apply_values(const struct scene *scene, const uint8_t *values, const uint8_t *now,
                         uint8_t *before) {
    struct carry_frame frame = template_frame(&scene->packet, now);
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    size_t count = carry_packet_walk(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < scene->count; i++) {
        memcpy(before + scene->fields[i].offset, values, scene->fields[i].size);
        values += scene->fields[i].size;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(before + sums[i].field_offset, now + sums[i].field_offset, 2);
}

struct writes {
    struct scene *scene;
    carry_jit_write_fn *function;
    void (*finish)(void *packet); /* see struct template_maker */
    struct verdict *verdict;
};

/*
 * Writes `values` once, and checks the packet. The generated function takes only the first two
 * arguments; the checked call also passes a size.
 */
static bool write_once(const struct writes *writes, uint8_t *packet, const uint8_t *values) {
    const struct scene *scene = writes->scene;
    struct verdict *verdict = writes->verdict;
    uint8_t before[TEMPLATE_FRAME_MAX];
    char found[sizeof scene->expected];
    memcpy(before, packet, scene->packet.size);
    call_checked_copy((carry_copy_fn *)(void (*)(void))writes->function, packet, values, 0,
                      verdict);
    if (writes->finish)
        writes->finish(packet);
    apply_values(scene, values, packet, before);
    if (memcmp(before, packet, scene->packet.size) != 0)
        return verdict_fail(verdict, "a byte that is no checksum is wrong");
    struct carry_frame frame = template_frame(&scene->packet, packet);
    describe_verdicts(&frame, found, sizeof found);
    if (strcmp(found, scene->expected) != 0)
        return verdict_fail(verdict, "%s instead of %s", found, scene->expected);
    return verdict->ok;
}

/* Places the packet at either end of its memory, with or without optional checksums. */
static uint8_t *place_packet(struct scene *scene) {
    const struct guard *guard = &scene->packets;
    uint8_t *packet = rng_below(2) ? guard->start : guard->end - scene->packet.size;
    struct carry_frame frame = template_frame(&scene->packet, packet);
    memcpy(packet, scene->packet.bytes, scene->packet.size);
    choose_checksums(&frame);
    describe_verdicts(&frame, scene->expected, sizeof scene->expected);
    return packet;
}

static void write_often(void *argument) {
    const struct writes *writes = argument;
    struct scene *scene = writes->scene;
    uint8_t *values = scene->values.end - scene->values_size;
    uint8_t *packet = place_packet(scene);
    for (size_t i = 0; i < 50 && writes->verdict->ok; i++) {
        choose_values(scene, values);
        write_once(writes, packet, values);
    }
}

/*
 * Tries values for which the innermost checksum becomes 0, and their neighbours. The field is a
 * word that the checksum covers, so such a value is the sum of the word and the checksum.
 */
static void write_zeros(void *argument) {
    const struct writes *writes = argument;
    struct scene *scene = writes->scene;
    uint8_t *values = scene->values.end - 2;
    uint8_t *packet = place_packet(scene);
    struct carry_frame frame = template_frame(&scene->packet, packet);
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    for (uint32_t i = 0; i < 12 && writes->verdict->ok; i++) {
        size_t count = carry_packet_walk(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
        bool swapped = i & 1; /* for a word at an odd offset from the covered bytes */
        const uint8_t *word = packet + scene->fields[0].offset;
        uint32_t value = (uint32_t)word[swapped] << 8 | word[!swapped];
        value += sums[count - 1].stored + i / 4;
        value += value >> 16;
        values[swapped] = (uint8_t)(value >> 8);
        values[!swapped] = (uint8_t)value;
        write_once(writes, packet, values);
    }
}

/* Makes a function for the fields, and lets `body` call it. */
static void check_fields(const struct template_maker *maker, struct scene *scene,
                         void (*body)(void *writes), struct verdict *verdict) {
    struct carry_jit_template_spec spec = {
        .frame = template_frame(&scene->packet, NULL),
        .fields = scene->fields,
        .count = scene->count,
    };
    const struct carry_jit *jit;
    int error = maker->make(&spec, &jit);
    if (error) {
        const char *text = carry_jit_template_error(&spec);
        verdict_fail(verdict, "error %d: %s", error, text ? text : "-");
        return;
    }
    struct writes writes = {scene, jit->write, maker->finish, verdict};
    struct fault fault;
    if (!fault_catch(body, &writes, &fault))
        verdict_fail(verdict, "%s", fault.name);
    maker->release(jit);
}

/* Chooses the last word of the packet that may vary. */
static void choose_last_word(struct scene *scene) {
    uint32_t at = scene->packet.size - 2;
    while (!scene->packet.varies[at] || !scene->packet.varies[at + 1])
        at--;
    scene->fields[0] = (struct carry_jit_field){at, 2};
    scene->count = 1;
    scene->values_size = 2;
}

struct verdict check_template(const struct template_maker *maker,
                              const struct template_stack *stack, const struct effort *effort) {
    struct verdict verdict = {.ok = true};
    struct scene scene = {.stack = stack};
    rng_restart();
    template_packet(&scene.packet, stack);
    struct carry_frame frame = template_frame(&scene.packet, NULL);
    describe_verdicts(&frame, scene.expected, sizeof scene.expected);
    if (strcmp(scene.expected, stack->verdicts) != 0)
        verdict_fail(&verdict, "made: %s", scene.expected);
    scene.packets = guard_open(TEMPLATE_FRAME_MAX);
    scene.values = guard_open(CARRY_JIT_FIELDS_BYTES_MAX);
    for (size_t i = 0; i < effort->rounds / 100 && verdict.ok; i++) {
        choose_fields(&scene);
        check_fields(maker, &scene, write_often, &verdict);
    }
    choose_last_word(&scene);
    for (size_t i = 0; i < 20 && verdict.ok; i++)
        check_fields(maker, &scene, write_zeros, &verdict);
    guard_close(&scene.packets);
    guard_close(&scene.values);
    return verdict;
}
