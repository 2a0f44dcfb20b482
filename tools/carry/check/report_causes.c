/* SPDX-License-Identifier: MIT */
/* Prints why sums are not good: a sentence for each protocol and verdict, with the senders. */
#include "check/report_parts.h"

#include "check/verdict_set.h"
#include "common/text.h"

#define NAMED_SENDERS 3

/* Prints the most frequent senders when there were too many to count each. Only lower bounds are
   known then. Senders below a tenth of all sums are omitted. */
static void print_frequent(FILE *out, const struct carry_capture_sender *senders, unsigned used,
                           uint64_t total) {
    char number[TEXT_SIZE], address[ADDRESS_SIZE];
    unsigned named = 0;
    for (unsigned i = 0; i < used && i < NAMED_SENDERS; i++) {
        uint64_t floor = senders[i].at_least;
        if (floor < total / 10)
            continue;
        fprintf(out, "%s at least %s from %s", named++ ? "," : "", text_count(number, floor),
                address_text(address, &senders[i].address, -1));
    }
    if (named)
        fputs(", the rest from many", out);
    else
        fprintf(out, " from %s %u senders",
                used == CARRY_CAPTURE_SENDERS_MAX ? "more than" : "at least", used);
}

static void print_exact(FILE *out, const struct carry_capture_sender *senders, unsigned used,
                        uint64_t total) {
    char number[TEXT_SIZE], address[ADDRESS_SIZE];
    if (used == 1) {
        fprintf(out, " %s %s",
                total == 1   ? "sent by"
                : total == 2 ? "both sent by"
                             : "all sent by",
                address_text(address, &senders->address, -1));
        return;
    }
    for (unsigned i = 0; i < used && i < NAMED_SENDERS; i++) {
        fprintf(out, "%s %s from %s", i ? "," : "", text_count(number, senders[i].at_most),
                address_text(address, &senders[i].address, -1));
        total -= senders[i].at_most;
    }
    if (used > NAMED_SENDERS)
        fprintf(out, ", %s from %u other%s", text_count(number, total), used - NAMED_SENDERS,
                text_plural(used - NAMED_SENDERS));
}

static void print_senders(FILE *out, const struct carry_capture_summary *summary, unsigned protocol,
                          unsigned verdict) {
    struct carry_capture_sender senders[CARRY_CAPTURE_SENDERS_MAX];
    const uint64_t total = carry_capture_count(summary, protocol, verdict);
    bool complete;
    size_t used = carry_capture_senders(summary, protocol, verdict, true, senders,
                                        CARRY_CAPTURE_SENDERS_MAX, &complete);
    if (complete)
        print_exact(out, senders, (unsigned)used, total);
    else
        print_frequent(out, senders, (unsigned)used, total);
}

/* Prints how many sums have a cause, "; all" or "; 2 of them", and then words about the cause. */
static void print_share(FILE *out, uint64_t count, uint64_t all,
                        const struct carry_capture_cause_words *words) {
    char number[TEXT_SIZE];
    if (count == all)
        fprintf(out, "; %s %s", all == 1 ? "it" : "all", all == 1 ? words->one : words->many);
    else
        fprintf(out, "; %s of them %s", text_count(number, count),
                count == 1 ? words->one : words->many);
}

/* Prints, for one verdict, each cause that summaries mention. */
static void print_shares(FILE *out, const struct carry_capture_summary *summary, unsigned protocol,
                         unsigned verdict) {
    const uint64_t all = carry_capture_count(summary, protocol, verdict);
    for (unsigned cause = CARRY_CAPTURE_CAUSE_NONE + 1; cause < CARRY_CAPTURE_CAUSE_COUNT;
         cause++) {
        const struct carry_capture_cause_words *words = carry_capture_describe_cause(cause);
        const uint64_t count = carry_capture_cause_count(summary, protocol, cause);
        if (count && words->verdict == verdict && words->many)
            print_share(out, count, all, words);
    }
}

/* Prints how many partial sums the capture itself marks as left to the network card; nothing if
   there are none. */
static void print_certain(FILE *out, const struct carry_capture_summary *summary,
                          unsigned protocol) {
    char number[TEXT_SIZE];
    const uint64_t count = carry_capture_certain_count(summary, protocol);
    const bool all = count == carry_capture_count(summary, protocol, CARRY_VERDICT_PARTIAL);
    if (count && all)
        fputs("; certain, as the capture says so", out);
    else if (count)
        fprintf(out, "; %s of them certain, as the capture says so", text_count(number, count));
}

static void print_partial(FILE *out, const struct carry_capture_summary *summary,
                          unsigned protocol) {
    const uint64_t received =
        carry_capture_cause_count(summary, protocol, CARRY_CAPTURE_CAUSE_RECEIVED);
    fputs("; transmit offload", out);
    if (!received)
        fputs(", finished by the network card after the capture", out);
    print_shares(out, summary, protocol, CARRY_VERDICT_PARTIAL);
    print_certain(out, summary, protocol);
}

static void print_reasons(FILE *out, const struct carry_capture_summary *summary,
                          unsigned protocol) {
    char number[TEXT_SIZE];
    const char *separator = "";
    for (unsigned reason = CARRY_REASON_NONE + 1; reason < CARRY_REASON_COUNT; reason++) {
        uint64_t count = carry_capture_reason_count(summary, protocol, reason);
        if (!count)
            continue;
        fputs(separator, out);
        if (count != carry_capture_count(summary, protocol, CARRY_VERDICT_UNVERIFIABLE))
            fprintf(out, " %s", text_count(number, count));
        fprintf(out, " %s", carry_capture_reason_text(reason));
        if (reason == CARRY_REASON_SNAPLEN)
            fprintf(out, ", which kept at most %s bytes",
                    text_count(number, carry_capture_totals(summary)->longest_cut));
        separator = ",";
    }
}

static void print_cause(FILE *out, const struct carry_capture_summary *summary, unsigned protocol,
                        unsigned verdict) {
    uint64_t count = carry_capture_count(summary, protocol, verdict);
    char number[TEXT_SIZE];
    fprintf(out, "%s: %s %s", carry_packet_protocol_name(protocol), text_count(number, count),
            carry_packet_verdict_name(verdict));
    const bool has_senders = verdict_is_in(verdict, CARRY_CAPTURE_FINDING_VERDICTS);
    fputs(has_senders ? "," : ":", out);
    if (has_senders)
        print_senders(out, summary, protocol, verdict);
    if (verdict == CARRY_VERDICT_PARTIAL)
        print_partial(out, summary, protocol);
    if (verdict == CARRY_VERDICT_ABSENT)
        fputs(" the sender chose to send none", out);
    if (verdict == CARRY_VERDICT_ILLEGAL)
        fputs("; no checksum, where the protocol demands one", out);
    if (verdict_is_in(verdict, CARRY_CAPTURE_WRONG_VERDICTS))
        print_shares(out, summary, protocol, verdict);
    if (verdict == CARRY_VERDICT_UNVERIFIABLE)
        print_reasons(out, summary, protocol);
    fputc('\n', out);
}

static void print_unknown_links(FILE *out, const struct carry_capture_summary *summary) {
    uint64_t packets, others = carry_capture_totals(summary)->unknown_links;
    char number[TEXT_SIZE], link[TEXT_SIZE];
    const char *separator = "";
    uint32_t linktype;
    fputs("not examined:", out);
    for (size_t i = 0; carry_capture_unknown_link(summary, i, &linktype, &packets); i++) {
        const char *name = carry_capture_describe_link(linktype);
        others -= packets;
        fprintf(out, "%s %s packet%s of link type %s", separator, text_count(number, packets),
                text_plural(packets), text_link_type(link, linktype));
        if (name)
            fprintf(out, " (%s)", name);
        separator = ",";
    }
    if (others)
        fprintf(out, ", %s of others", text_count(number, others));
    fputc('\n', out);
}

static void print_without(FILE *out, uint64_t without) {
    char number[TEXT_SIZE];
    fprintf(out, "%s packet%s without a known checksum\n", text_count(number, without),
            text_plural(without));
}

static void print_deeper(FILE *out, uint64_t deeper) {
    char number[TEXT_SIZE];
    fprintf(out, "nested too deep: %s packet%s, of which at most %d headers were examined\n",
            text_count(number, deeper), text_plural(deeper), CARRY_PACKET_SUMS_MAX);
}

static void print_left_without(FILE *out, uint64_t packets) {
    char number[TEXT_SIZE];
    fprintf(out,
            "flags: %s packet%s said to hold a checksum that is left to the network card, but none "
            "is partial\n",
            text_count(number, packets), text_plural(packets));
}

static void print_raw_ip(FILE *out, uint64_t packets) {
    char number[TEXT_SIZE];
    fprintf(
        out,
        "link type: %s packet%s said to be Ethernet, but IP without a link header, as rvictl of "
        "iOS writes them: set the type with editcap -T rawip IN OUT\n",
        text_count(number, packets), packets == 1 ? " is" : "s are");
}

/* Returns how many sums of all protocols have a cause. */
static uint64_t count_cause(const struct carry_capture_summary *summary, unsigned cause) {
    uint64_t count = 0;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        count += carry_capture_cause_count(summary, protocol, cause);
    return count;
}

/* Checks whether the cause explains bad or illegal sums. */
static bool explains_wrong(const struct carry_capture_cause_words *words) {
    return words && verdict_is_in(words->verdict, CARRY_CAPTURE_WRONG_VERDICTS);
}

/* Returns the most frequent cause of wrong sums that is not in `named`; NONE if there is none. */
static unsigned find_frequent_cause(const struct carry_capture_summary *summary,
                                    const bool named[CARRY_CAPTURE_CAUSE_COUNT]) {
    unsigned found = CARRY_CAPTURE_CAUSE_NONE;
    uint64_t most = 0;
    for (unsigned cause = 0; cause < CARRY_CAPTURE_CAUSE_COUNT; cause++) {
        const uint64_t count = count_cause(summary, cause);
        if (!explains_wrong(carry_capture_describe_cause(cause)) || named[cause] || count <= most)
            continue;
        most = count;
        found = cause;
    }
    return found;
}

static uint64_t count_explained(const struct carry_capture_summary *summary) {
    uint64_t count = 0;
    for (unsigned cause = 0; cause < CARRY_CAPTURE_CAUSE_COUNT; cause++)
        if (explains_wrong(carry_capture_describe_cause(cause)))
            count += count_cause(summary, cause);
    return count;
}

void report_cause_shares(FILE *out, const struct carry_capture_summary *summary) {
    const uint64_t wrong = carry_capture_total(summary, CARRY_CAPTURE_WRONG_VERDICTS);
    const uint64_t explained = count_explained(summary);
    bool named[CARRY_CAPTURE_CAUSE_COUNT] = {false};
    char number[TEXT_SIZE], all[TEXT_SIZE];
    struct text_block block;
    if (!wrong)
        return;
    text_block_begin(&block, out);
    fprintf(block.out, "of %s bad or illegal checksum%s, ", text_count(all, wrong),
            text_plural(wrong));
    fprintf(block.out, "%s %s a cause", explained ? text_count(number, explained) : "none",
            explained > 1 ? "have" : "has");
    const char *separator = ":";
    unsigned cause;
    while ((cause = find_frequent_cause(summary, named)) != CARRY_CAPTURE_CAUSE_NONE) {
        named[cause] = true;
        fprintf(block.out, "%s %s %s", separator, text_count(number, count_cause(summary, cause)),
                carry_capture_cause_name(cause));
        separator = ",";
    }
    fputc('\n', block.out);
    fputc('\n', out);
    text_block_end(&block, 2);
}

/* Prints the advice about each cause that occurs; once, even if several sums have the cause. */
static void print_advice(FILE *out, const struct carry_capture_summary *summary) {
    for (unsigned cause = CARRY_CAPTURE_CAUSE_NONE + 1; cause < CARRY_CAPTURE_CAUSE_COUNT;
         cause++) {
        const struct carry_capture_cause_words *words = carry_capture_describe_cause(cause);
        if (words->advice && count_cause(summary, cause))
            fprintf(out, "try (%s): %s\n", words->name, words->advice);
    }
}

/* Prints the outcomes of fragmented datagrams, if there were any. */
static void print_reassembly(FILE *out, const struct carry_capture_summary *summary) {
    char number[TEXT_SIZE];
    const char *separator = "datagrams:";
    for (unsigned i = 0; i < CARRY_CAPTURE_REASSEMBLY_COUNT; i++) {
        uint64_t count = carry_capture_reassembly_count(summary, i);
        if (!count)
            continue;
        fprintf(out, "%s %s %s", separator, text_count(number, count),
                carry_capture_reassembly_text(i));
        separator = ",";
    }
    if (*separator == ',')
        fputc('\n', out);
}

void report_write_causes(FILE *out, const struct carry_capture_summary *summary) {
    const struct carry_capture_totals *totals = carry_capture_totals(summary);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = CARRY_VERDICT_GOOD + 1; verdict < CARRY_VERDICT_COUNT; verdict++)
            if (carry_capture_count(summary, protocol, verdict))
                print_cause(out, summary, protocol, verdict);
    print_advice(out, summary);
    print_reassembly(out, summary);
    if (totals->left_without)
        print_left_without(out, totals->left_without);
    if (totals->unknown_links)
        print_unknown_links(out, summary);
    if (totals->raw_ip)
        print_raw_ip(out, totals->raw_ip);
    if (totals->deeper)
        print_deeper(out, totals->deeper);
    if (totals->without)
        print_without(out, totals->without);
}

void report_causes(FILE *out, const struct carry_capture_summary *summary) {
    struct text_block block;
    text_block_begin(&block, out);
    report_write_causes(block.out, summary);
    fflush(block.out);
    if (block.size)
        fputc('\n', out);
    text_block_end(&block, 2);
}
