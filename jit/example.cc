/* SPDX-License-Identifier: MIT */
#include "example.h"

namespace carry::jit {
namespace {

constexpr const char *SHAPE = "fields: a field that determines the shape of the packet";

/* Returns why no template can be made of a frame with a sum that is unverifiable for `reason`, or
   NULL. */
const char *unverifiable_reason(uint8_t reason) {
    switch (reason) {
    case CARRY_REASON_FRAGMENT:
        return "frame: a fragment";
    case CARRY_REASON_LENGTH:
    case CARRY_REASON_MALFORMED:
        return "frame: headers that contradict each other";
    case CARRY_REASON_ROUTING:
        return "frame: a routing header of an unknown type";
    default:
        return nullptr;
    }
}

/* Returns what has changed in a sum, other than its pseudo-header, or NULL. */
const char *sum_difference(struct carry_packet_sum now, const struct carry_packet_sum &before) {
    now.pseudo = before.pseudo;
    if (memcmp(&now, &before, sizeof now) == 0)
        return nullptr;
    bool is_length = now.cover_size != before.cover_size || now.reason == CARRY_REASON_LENGTH ||
                     now.reason == CARRY_REASON_MALFORMED;
    return is_length && now.field_offset == before.field_offset ? "fields: a length" : SHAPE;
}

bool folds_to(uint32_t a, uint32_t b) {
    return carry_sum_fold(a) == carry_sum_fold(b);
}

/* Returns `sum` plus the byte. Whether `offset` is even determines the byte's place in its word. */
uint32_t with_byte(uint32_t sum, uint8_t byte, uint32_t offset) {
    uint8_t word[2] = {0, 0};
    word[offset & 1] = byte;
    return carry_sum(word, sizeof word, sum);
}

/* Returns values to try: each bit changed, all bits changed, and the extremes. Each value costs a
   walk, so not all values are tried. */
std::vector<uint8_t> trial_values(uint8_t was) {
    std::vector<uint8_t> trials;
    for (unsigned bit = 0; bit < 8; bit++)
        trials.push_back(static_cast<uint8_t>(was ^ 1u << bit));
    trials.push_back(static_cast<uint8_t>(~was));
    for (uint8_t extreme : {0, 0xff})
        if (was != extreme)
            trials.push_back(extreme);
    return trials;
}

} // namespace

Example::Example(const struct carry_frame &example)
    : bytes(static_cast<const uint8_t *>(example.data),
            static_cast<const uint8_t *>(example.data) + example.captured),
      frame(example) {
    frame.data = bytes.data();
    places = walk();
    struct carry_packet_sum judged[CARRY_PACKET_SUMS_MAX];
    size_t count = carry_packet_check(&frame, nullptr, judged, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++) {
        bool is_there = judged[i].field_offset + uint64_t{judged[i].field_size} <= bytes.size();
        bool none_by_0 = is_there && verdict_on(judged[i], 0) != CARRY_VERDICT_UNVERIFIABLE;
        bool none_by_1 = is_there && verdict_on(judged[i], 1) != CARRY_VERDICT_UNVERIFIABLE;
        sums.push_back({judged[i], none_by_1, none_by_0});
    }
}

Example::Places Example::walk() const {
    Places now; /* large: only the first `count` sums are set */
    now.count = carry_packet_walk(&frame, nullptr, now.sums, CARRY_PACKET_SUMS_MAX);
    return now;
}

/* Returns the verdict if all bytes of the field are `stored`. */
uint8_t Example::verdict_on(const struct carry_packet_sum &sum, uint8_t stored) {
    uint8_t *field = &bytes[sum.field_offset];
    std::vector<uint8_t> was(field, field + sum.field_size);
    memset(field, stored, sum.field_size);
    Places now = walk();
    memcpy(field, was.data(), was.size());
    for (size_t i = 0; i < now.count; i++)
        if (now.sums[i].field_offset == sum.field_offset)
            return now.sums[i].verdict;
    return CARRY_VERDICT_UNVERIFIABLE;
}

const char *Example::error() const {
    if (!carry_packet_knows_link(frame.linktype))
        return "frame: unknown link type";
    for (const ExampleSum &sum : sums) {
        if (const char *text = unverifiable_reason(sum.reason))
            return text;
        if (sum.field_offset + uint64_t{sum.field_size} > bytes.size())
            return "frame: cut off within a checksum";
    }
    return nullptr;
}

/* Adds the effect of the byte on pseudo-headers to `effect`. Returns false if a pseudo-header
   differs in anything except this byte. */
bool Example::count_in_pseudo(const Places &now, uint32_t at, uint8_t was, Effect &effect) const {
    for (size_t i = 0; i < places.count; i++) {
        uint32_t before = places.sums[i].pseudo, after = now.sums[i].pseudo;
        if (before == after)
            continue;
        for (uint32_t swapped = 0; swapped < 2; swapped++)
            effect[i][swapped] = folds_to(with_byte(before, bytes[at], at ^ swapped),
                                          with_byte(after, was, at ^ swapped));
        if (!effect[i][0] && !effect[i][1])
            return false;
    }
    return true;
}

/* Compares the walk with the walk of the example, in which the byte at `at` was `was`. Returns why
   the byte must not vary; or returns NULL and sets `effect`. */
const char *Example::compare_walk(uint32_t at, uint8_t was, Effect &effect) const {
    Places now = walk();
    if (now.count < places.count)
        return SHAPE;
    if (memcmp(now.sums, places.sums, places.count * sizeof *now.sums) == 0)
        return nullptr;
    for (size_t i = 0; i < places.count; i++)
        if (const char *text = sum_difference(now.sums[i], places.sums[i]))
            return text;
    return count_in_pseudo(now, at, was, effect) ? nullptr : SHAPE;
}

const char *Example::try_byte(uint32_t at, Effect &effect) {
    const uint8_t was = bytes[at];
    const std::vector<uint8_t> trials = trial_values(was);
    const char *text = nullptr;
    for (size_t i = 0; i < trials.size() && !text; i++) {
        Effect now{};
        bytes[at] = trials[i];
        text = compare_walk(at, was, now);
        if (i == 0)
            effect = now;
        else if (!text && now != effect)
            text = SHAPE;
    }
    bytes[at] = was;
    return text;
}

bool Example::covers(size_t sum, uint32_t at) const {
    const ExampleSum &s = sums[sum];
    bool within = at >= s.cover_offset && at - s.cover_offset < s.cover_size;
    uint32_t into = at - s.cover_offset;
    return within && (into < s.gap_offset || into - s.gap_offset >= s.gap_size);
}

bool Example::is_checksum(uint32_t at) const {
    for (const ExampleSum &sum : sums)
        if (at >= sum.field_offset && at - sum.field_offset < sum.field_size)
            return true;
    return false;
}

} // namespace carry::jit
