/* SPDX-License-Identifier: MIT */
/* Why sums are not good: a sentence for each protocol and verdict, and who sent them. */
#include "capture/report_parts.h"

#include "common/text.h"

#define NAMED_SENDERS 3

/* After an overflow only a floor is known, and a sender with a small share may be anyone. */
static void print_frequent(FILE *out, const struct sender *senders, unsigned used, uint64_t total) {
    char number[TEXT_SIZE], address[ADDRESS_SIZE];
    unsigned named = 0;
    for (unsigned i = 0; i < used && i < NAMED_SENDERS; i++) {
        uint64_t floor = senders[i].count - senders[i].error;
        if (floor < total / 10)
            continue;
        fprintf(out, "%s at least %s from %s", named++ ? "," : "", text_count(number, floor),
                address_text(address, &senders[i].key.address, -1));
    }
    if (named)
        fputs(", the rest from many", out);
    else
        fprintf(out, " from %s %u senders", used == SENDERS ? "more than" : "at least", used);
}

static void print_exact(FILE *out, const struct sender *senders, unsigned used, uint64_t total) {
    char number[TEXT_SIZE], address[ADDRESS_SIZE];
    if (used == 1) {
        fprintf(out, " %s %s",
                total == 1   ? "sent by"
                : total == 2 ? "both sent by"
                             : "all sent by",
                address_text(address, &senders->key.address, -1));
        return;
    }
    for (unsigned i = 0; i < used && i < NAMED_SENDERS; i++) {
        fprintf(out, "%s %s from %s", i ? "," : "", text_count(number, senders[i].count),
                address_text(address, &senders[i].key.address, -1));
        total -= senders[i].count;
    }
    if (used > NAMED_SENDERS)
        fprintf(out, ", %s from %u other%s", text_count(number, total), used - NAMED_SENDERS,
                text_plural(used - NAMED_SENDERS));
}

static void print_senders(FILE *out, const struct senders *senders, uint64_t total) {
    struct sender sorted[SENDERS];
    unsigned used = senders_sort_addresses(senders, sorted);
    if (senders->overflowed)
        print_frequent(out, sorted, used, total);
    else
        print_exact(out, sorted, used, total);
}

/* What some of the bad sums do: "; 2 of them hold", or "; all hold". */
static void print_share(FILE *out, uint64_t count, uint64_t all, const char *one,
                        const char *many) {
    char number[TEXT_SIZE];
    if (count == all)
        fprintf(out, "; %s %s", all == 1 ? "it" : "all", all == 1 ? one : many);
    else
        fprintf(out, "; %s of them %s", text_count(number, count), count == 1 ? one : many);
}

/* An empty field is a cause of its own: the sender, or who made the capture, left it so. */
static void print_causes_of_bad(FILE *out, const struct tally *tally, unsigned protocol) {
    const uint64_t *causes = tally->causes[protocol];
    uint64_t all = tally->counts[protocol][CARRY_VERDICT_BAD];
    if (causes[CAUSE_ZERO])
        print_share(out, causes[CAUSE_ZERO], all, "holds 0: never filled in",
                    "hold 0: never filled in");
    if (causes[CAUSE_ADLER32])
        print_share(out, causes[CAUSE_ADLER32], all,
                    "verifies as Adler-32, which SCTP had before RFC 3309",
                    "verify as Adler-32, which SCTP had before RFC 3309");
}

static void print_causes_of_partial(FILE *out, const struct tally *tally, unsigned protocol) {
    char number[TEXT_SIZE];
    uint64_t by_sender = tally->causes[protocol][CAUSE_BY_SENDER];
    fputs("; transmit offload, finished by the network card after the capture", out);
    if (by_sender)
        fprintf(out, "; %s of them shown by other packets of the same sender",
                text_count(number, by_sender));
}

static void print_reasons(FILE *out, const struct tally *tally, unsigned protocol) {
    static const char *const sentences[CARRY_REASON_COUNT] = {
#define CARRY_REASON_TEXT(reason, of_many, of_one) [CARRY_REASON_##reason] = of_many,
#include "capture/reasons.def"
#undef CARRY_REASON_TEXT
    };
    char number[TEXT_SIZE];
    const char *separator = "";
    for (unsigned reason = CARRY_REASON_NONE + 1; reason < CARRY_REASON_COUNT; reason++) {
        uint64_t count = tally->reasons[protocol][reason];
        if (!count)
            continue;
        fputs(separator, out);
        if (count != tally->counts[protocol][CARRY_VERDICT_UNVERIFIABLE])
            fprintf(out, " %s", text_count(number, count));
        fprintf(out, " %s", sentences[reason]);
        if (reason == CARRY_REASON_SNAPLEN)
            fprintf(out, " %s bytes", text_count(number, tally->longest_cut));
        separator = ",";
    }
}

static void print_cause(FILE *out, const struct tally *tally, unsigned protocol, unsigned verdict) {
    const struct senders *senders = &tally->senders[protocol][verdict];
    uint64_t count = tally->counts[protocol][verdict];
    char number[TEXT_SIZE];
    fprintf(out, "%s: %s %s", carry_packet_protocol_name(protocol), text_count(number, count),
            carry_packet_verdict_name(verdict));
    fputs(tally_names(verdict) ? "," : ":", out);
    if (tally_names(verdict))
        print_senders(out, senders, count);
    if (verdict == CARRY_VERDICT_BAD)
        print_causes_of_bad(out, tally, protocol);
    if (verdict == CARRY_VERDICT_PARTIAL)
        print_causes_of_partial(out, tally, protocol);
    if (verdict == CARRY_VERDICT_ABSENT)
        fputs(" the sender chose to send none", out);
    if (verdict == CARRY_VERDICT_ILLEGAL)
        fputs("; no checksum, where the protocol demands one", out);
    if (verdict == CARRY_VERDICT_UNVERIFIABLE)
        print_reasons(out, tally, protocol);
    fputc('\n', out);
}

static void print_unknown_links(FILE *out, const struct tally *tally) {
    char number[TEXT_SIZE];
    const char *separator = "";
    fputs("not looked into:", out);
    for (unsigned i = 0; i < tally->unknown_used; i++) {
        const struct unknown_link *link = &tally->unknown[i];
        const char *name = report_link_name(link->linktype);
        fprintf(out, "%s %s packet%s of link type %u", separator, text_count(number, link->packets),
                text_plural(link->packets), link->linktype);
        if (name)
            fprintf(out, " (%s)", name);
        separator = ",";
    }
    if (tally->unknown_others)
        fprintf(out, ", %s of others", text_count(number, tally->unknown_others));
    fputc('\n', out);
}

static void print_without(FILE *out, const struct tally *tally) {
    char number[TEXT_SIZE];
    fprintf(out, "%s packet%s without a checksum known here\n", text_count(number, tally->without),
            text_plural(tally->without));
}

static void print_deeper(FILE *out, const struct tally *tally) {
    char number[TEXT_SIZE];
    fprintf(out, "nested too deep: %s packet%s, of which at most %d headers were looked at\n",
            text_count(number, tally->deeper), text_plural(tally->deeper), CARRY_PACKET_SUMS_MAX);
}

/* What became of fragmented datagrams, if there were any. */
static void print_reassembly(FILE *out, const uint64_t *counts) {
    char number[TEXT_SIZE];
    const char *separator = "datagrams:";
    for (unsigned i = 0; counts && i < REASSEMBLY_COUNT; i++) {
        if (!counts[i])
            continue;
        fprintf(out, "%s %s %s", separator, text_count(number, counts[i]), reassembly_sentence(i));
        separator = ",";
    }
    if (*separator == ',')
        fputc('\n', out);
}

void report_causes(const struct tally *tally, const uint64_t *reassembly) {
    struct text_block block;
    text_block_begin(&block);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = CARRY_VERDICT_GOOD + 1; verdict < CARRY_VERDICT_COUNT; verdict++)
            if (tally->counts[protocol][verdict])
                print_cause(block.out, tally, protocol, verdict);
    print_reassembly(block.out, reassembly);
    if (tally->unknown_used)
        print_unknown_links(block.out, tally);
    if (tally->deeper)
        print_deeper(block.out, tally);
    if (tally->without)
        print_without(block.out, tally);
    fflush(block.out);
    if (block.size)
        putchar('\n');
    text_block_end(&block, 2);
}
