/* SPDX-License-Identifier: MIT */
#include "template.h"

#include <algorithm>
#include <iterator>
#include <new>

#include "example.h"

namespace carry::jit {
namespace {

/* The number of covered bytes, at the start of the header, that are certain to be as in the
 * example. */
constexpr uint32_t SURE_BYTES = 8;

using Spec = struct carry_jit_template_spec;

class Planner {
  public:
    explicit Planner(const Spec &template_spec) : spec(template_spec), example(spec.frame) {
    }

    /* Returns what is wrong with the fields, or NULL. The caller must call this before plan(). */
    const char *try_fields();

    int plan(TemplatePlan &plan) const;

  private:
    const char *try_field(const struct carry_jit_field &field);
    bool is_field(uint32_t at) const;
    bool may_be_all_zero(const ExampleSum &sum) const;
    Effect effect_at(uint32_t at, const Effect &pseudo) const;
    void add_run(TemplatePlan &plan, uint32_t at, uint32_t end, const Effect &effect) const;
    void add_chunks(TemplatePlan &plan) const;
    TemplateSum sum_at(size_t index) const;

    const Spec &spec;
    Example example;
    std::vector<uint32_t> places; /* offsets of the varying bytes, ascending */
    std::vector<Effect> pseudo;   /* the effect of each on the pseudo-headers that contain it */
};

/* Returns what is wrong with a spec, or NULL. Does not examine the frame. */
const char *outline_error(const Spec &spec) {
    if (spec.frame.captured && !spec.frame.data)
        return "frame: no data";
    if (spec.count > CARRY_JIT_FIELDS_MAX)
        return "count: above CARRY_JIT_FIELDS_MAX";
    if (spec.count && !spec.fields)
        return "fields: none";
    uint64_t bytes = 0, end = 0;
    for (const carry_jit_field *field = spec.fields; field != spec.fields + spec.count; field++) {
        if (field->size == 0)
            return "fields: empty field";
        if (field->offset < end)
            return "fields: not in ascending order, or overlapping";
        end = uint64_t{field->offset} + field->size;
        bytes += field->size;
    }
    if (end > spec.frame.captured)
        return "fields: beyond the frame";
    if (end > INT32_MAX) /* the range of instructions */
        return "fields: beyond 2 GiB";
    if (bytes > CARRY_JIT_FIELDS_BYTES_MAX)
        return "fields: above CARRY_JIT_FIELDS_BYTES_MAX in all";
    if (std::any_of(std::begin(spec.reserved), std::end(spec.reserved), [](auto r) { return r; }))
        return "reserved: not 0";
    return nullptr;
}

const char *Planner::try_fields() {
    if (const char *text = example.error())
        return text;
    for (size_t i = 0; i < spec.count; i++)
        if (const char *text = try_field(spec.fields[i]))
            return text;
    return nullptr;
}

const char *Planner::try_field(const struct carry_jit_field &field) {
    for (uint32_t at = field.offset; at < field.offset + field.size; at++) {
        Effect effect{};
        if (example.is_checksum(at))
            return "fields: a checksum";
        if (const char *text = example.try_byte(at, effect))
            return text;
        places.push_back(at);
        pseudo.push_back(effect);
    }
    return nullptr;
}

bool Planner::is_field(uint32_t at) const {
    return std::binary_search(places.begin(), places.end(), at);
}

/* Returns whether all covered bytes may be 0. Only zeros sum up to 0; their checksum must be
   0xffff, whereas for other bytes 0 is equally good, and usual. */
bool Planner::may_be_all_zero(const ExampleSum &sum) const {
    if (sum.pseudo)
        return false;
    uint32_t end = sum.cover_offset + std::min(sum.cover_size, SURE_BYTES);
    for (uint32_t at = sum.cover_offset; at < end; at++)
        if (!example.is_checksum(at) && !is_field(at) && example.bytes[at])
            return false;
    return true;
}

/* Returns the effect of the byte at `at` on all sums. Words begin at even offsets of the packet. */
Effect Planner::effect_at(uint32_t at, const Effect &in_pseudo) const {
    Effect effect{};
    for (size_t i = example.sums.size(); i-- > 0;) {
        const ExampleSum &sum = example.sums[i];
        if (sum.is_none)
            continue;
        if (sum.pseudo)
            effect[i] = in_pseudo[i];
        if (example.covers(i, at))
            effect[i][sum.cover_offset & 1]++;
        for (size_t inner = i + 1; inner < example.sums.size(); inner++) {
            uint32_t field = example.sums[inner].field_offset;
            if (example.sums[inner].may_be_none || !example.covers(i, field))
                continue;
            for (uint32_t swapped = 0; swapped < 2; swapped++)
                effect[i][swapped ^ ((field - sum.cover_offset) & 1)] -= effect[inner][swapped];
        }
    }
    return effect;
}

/* Returns an effect relative to words that begin at `at`. */
Effect effect_from(uint32_t at, Effect effect) {
    if (at & 1)
        for (auto &one : effect)
            std::swap(one[0], one[1]);
    return effect;
}

/* Adds the bytes from `at` to `end`. They all have the effect `effect`. */
void Planner::add_run(TemplatePlan &plan, uint32_t at, uint32_t end, const Effect &effect) const {
    uint32_t value = plan.chunks.empty() ? 0 : plan.chunks.back().value + plan.chunks.back().size;
    for (uint32_t size = 8; size; size /= 2)
        for (; end - at >= size; at += size, value += size)
            plan.chunks.push_back({at, value, size, effect_from(at, effect)});
}

void Planner::add_chunks(TemplatePlan &plan) const {
    size_t start = 0;
    Effect effect{};
    for (size_t i = 0; i < places.size(); i++) {
        Effect now = effect_at(places[i], pseudo[i]);
        if (i > start && (now != effect || places[i] != places[i - 1] + 1)) {
            add_run(plan, places[start], places[i - 1] + 1, effect);
            start = i;
        }
        effect = now;
    }
    if (!places.empty())
        add_run(plan, places[start], places.back() + 1, effect);
}

bool has_effect(const Effect &effect, size_t sum) {
    return effect[sum][0] || effect[sum][1];
}

/* Returns whether the sum changes. `changes` of the inner sums must be set already. */
bool sum_changes(const TemplatePlan &plan, size_t sum) {
    for (const TemplateChunk &chunk : plan.chunks)
        if (has_effect(chunk.effect, sum))
            return true;
    for (size_t inner = sum + 1; inner < plan.sums.size(); inner++)
        if (plan.sums[inner].changes && has_effect(plan.sums[inner].effect, sum))
            return true;
    return false;
}

TemplateSum Planner::sum_at(size_t index) const {
    const ExampleSum &sum = example.sums[index];
    TemplateSum planned{sum.field_offset, 0, sum.may_be_none, false, {}};
    if (sum.may_be_none || may_be_all_zero(sum))
        planned.for_zero = 0xffff;
    if (sum.may_be_none)
        planned.effect = effect_from(sum.field_offset, effect_at(sum.field_offset, Effect{}));
    planned.effect[index] = {0, 0};
    return planned;
}

/* Returns whether the checksum can be updated: it is not a CRC, and is a word of the covered
 * bytes. */
bool is_updatable(const ExampleSum &sum) {
    return sum.field_size == 2 && ((sum.field_offset - sum.cover_offset) & 1) == 0;
}

int Planner::plan(TemplatePlan &plan) const {
    add_chunks(plan);
    for (size_t i = 0; i < example.sums.size(); i++)
        plan.sums.push_back(sum_at(i));
    for (size_t i = plan.sums.size(); i-- > 0;) {
        plan.sums[i].changes = sum_changes(plan, i);
        if (plan.sums[i].changes && !is_updatable(example.sums[i]))
            return CARRY_ERROR_UNSUPPORTED;
    }
    return accept_template(plan);
}

template <typename Value> void append_bytes(std::string &key, const Value &value) {
    key += bytes_of(value);
}

/* Returns a key of everything that the generator reads: examples share a function if they differ
   only in things that it does not read. */
std::string key_of(const TemplatePlan &plan) {
    std::string key = "template";
    append_bytes(key, plan.chunks.size());
    for (const TemplateChunk &chunk : plan.chunks)
        append_bytes(key, chunk);
    for (const TemplateSum &sum : plan.sums)
        append_bytes(key, sum);
    return key;
}

std::string name_template(const TemplatePlan &plan) {
    size_t size = plan.chunks.empty() ? 0 : plan.chunks.back().value + plan.chunks.back().size;
    return "carry_jit_template_" + std::to_string(size);
}

int make_template(const Spec &spec, const struct carry_jit **jit) {
    Planner planner(spec);
    if (planner.try_fields())
        return CARRY_ERROR_INVALID;
    TemplatePlan plan;
    int error = planner.plan(plan);
    return error ? error
                 : obtain_code(key_of(plan), name_template(plan), emit_template, &plan, jit);
}

} // namespace

size_t TemplatePlan::count_changing() const {
    return std::count_if(sums.begin(), sums.end(), [](const auto &sum) { return sum.changes; });
}

} // namespace carry::jit

const char *carry_jit_template_error(const struct carry_jit_template_spec *spec) {
    using namespace carry::jit;
    const char *text = outline_error(*spec);
    try {
        return text ? text : Planner(*spec).try_fields();
    } catch (const std::bad_alloc &) {
        return nullptr; /* nothing is wrong with the spec */
    }
}

int carry_jit_template(const struct carry_jit_template_spec *spec, const struct carry_jit **jit) {
    using namespace carry::jit;
    if (outline_error(*spec))
        return CARRY_ERROR_INVALID;
    return catch_no_memory([=] { return make_template(*spec, jit); });
}
