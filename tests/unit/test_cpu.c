/* SPDX-License-Identifier: MIT */
/* Tests `cpu`: features, masks, and the mask in the environment. */
#include <stdio.h>
#include <string.h>

#include <carry/cpu.h>

#include "harness/child.h"
#include "harness/cpu.h"
#include "harness/tap.h"

#define FEATURES_MAX 64

static size_t feature_count(void) {
    struct carry_cpu_feature feature;
    size_t count = 0;
    while (carry_cpu_feature(count, &feature))
        count++;
    return count;
}

static struct carry_cpu_feature feature_at(size_t index) {
    struct carry_cpu_feature feature;
    carry_cpu_feature(index, &feature);
    return feature;
}

static bool find_feature(const char *name, struct carry_cpu_feature *feature) {
    for (size_t i = 0; carry_cpu_feature(i, feature); i++)
        if (!strcmp(feature->name, name))
            return true;
    return false;
}

static enum carry_cpu_state state_of_feature(const char *name) {
    struct carry_cpu_feature feature;
    return find_feature(name, &feature) ? feature.state : CARRY_CPU_ABSENT;
}

static void take_snapshot(enum carry_cpu_state *states) {
    for (size_t i = 0; i < feature_count(); i++)
        states[i] = feature_at(i).state;
}

static bool same_states(const enum carry_cpu_state *states) {
    for (size_t i = 0; i < feature_count(); i++)
        if (feature_at(i).state != states[i])
            return false;
    return true;
}

/* Returns whether preferences that hold have evidence, and capabilities have none. */
static bool evidence_is_sane(const struct carry_cpu_feature *feature) {
    return feature->evidence ? feature->is_preference && *feature->evidence
                             : !feature->is_preference || feature->state == CARRY_CPU_ABSENT;
}

static bool row_is_sane(const struct carry_cpu_feature *feature) {
    return *feature->name && *feature->description && evidence_is_sane(feature) &&
           carry_cpu_has(feature->name) == (feature->state == CARRY_CPU_PRESENT);
}

static void test_table(void) {
    bool ok = TAP_LE(feature_count(), FEATURES_MAX);
    for (size_t i = 0; i < feature_count(); i++) {
        struct carry_cpu_feature feature = feature_at(i);
        ok = ok && TAP_TRUE(row_is_sane(&feature));
        tap_note("%s: %s", feature.name,
                 feature.state == CARRY_CPU_PRESENT  ? "present"
                 : feature.state == CARRY_CPU_MASKED ? "masked"
                                                     : "absent");
    }
    tap_ok(ok, "%zu features of %s, each with a name and a description", feature_count(),
           carry_cpu_arch());
    struct carry_cpu_feature feature;
    tap_ok(TAP_TRUE(!carry_cpu_feature(feature_count(), &feature)) &&
               TAP_TRUE(!carry_cpu_feature(SIZE_MAX, &feature)),
           "the list of features ends");
    tap_ok(TAP_TRUE(!carry_cpu_has("no such feature")) && TAP_TRUE(!carry_cpu_has("")),
           "unknown names are absent");
}

/* Compares the detected features with the features that the compiler's runtime detects. */
static void test_detection(void) {
    for (size_t i = 0; i < feature_count(); i++) {
        const char *name = feature_at(i).name;
        enum cpu_opinion opinion = cpu_supports(name);
        if (opinion == CPU_SAYS_NOTHING)
            tap_skip(name, "the compiler has no test for it");
        else
            tap_ok(TAP_EQ(carry_cpu_has(name), opinion == CPU_SAYS_YES),
                   "%s is found where the compiler finds it", name);
    }
}

/* Returns whether a masked feature is reported as masked, and an absent one as absent. */
static bool taken_away(size_t index, enum carry_cpu_state before) {
    enum carry_cpu_state state = feature_at(index).state;
    return before == CARRY_CPU_ABSENT ? state == CARRY_CPU_ABSENT : state == CARRY_CPU_MASKED;
}

static void test_one_by_one(const enum carry_cpu_state *all) {
    for (size_t i = 0; i < feature_count(); i++) {
        const char *name = feature_at(i).name;
        bool ok = TAP_EQ(carry_cpu_set_mask(name), CARRY_OK) && TAP_TRUE(taken_away(i, all[i]));
        for (size_t j = 0; j < i; j++)
            ok = ok && TAP_EQ(feature_at(j).state, all[j]);
        tap_ok(ok, "\"%s\" masks the feature, but no feature that it builds on", name);
    }
    tap_ok(TAP_EQ(carry_cpu_set_mask(""), CARRY_OK) && TAP_TRUE(same_states(all)),
           "\"\" unmasks everything");
}

static void test_all(const enum carry_cpu_state *all) {
    bool ok = TAP_EQ(carry_cpu_set_mask("all"), CARRY_OK);
    for (size_t i = 0; i < feature_count(); i++)
        ok = ok && TAP_TRUE(taken_away(i, all[i]));
    tap_ok(ok, "\"all\" masks everything");
    carry_cpu_set_mask("");
}

static bool is_gone(const char *const *names) {
    for (; *names; names++)
        if (carry_cpu_has(*names))
            return false;
    return true;
}

static void test_cascade(void) {
    static const char *const with_avx2[] = {
        "avx2",      "avxvnni",          "avx512bw",        "avx512vl",     "avx512vnni",
        "prefer512", "prefer512_copies", "prefer_multiply", "prefer_masks", NULL};
    static const char *const with_avx512bw[] = {"avx512bw",  "avx512vl",         "avx512vnni",
                                                "prefer512", "prefer512_copies", "prefer_masks",
                                                NULL};
    if (strcmp(carry_cpu_arch(), "x86_64")) {
        tap_skip("masks cascade", "%s has no features that build on others", carry_cpu_arch());
        return;
    }
    const bool avx2 = carry_cpu_has("avx2");
    tap_ok(TAP_EQ(carry_cpu_set_mask("avx2"), CARRY_OK) && TAP_TRUE(is_gone(with_avx2)),
           "without AVX2 there is no AVX-512 and no preference");
    tap_ok(TAP_EQ(carry_cpu_set_mask("bmi2"), CARRY_OK) && TAP_TRUE(is_gone(with_avx512bw)) &&
               TAP_EQ(carry_cpu_has("avx2"), avx2),
           "no BMI2, no AVX-512, but AVX2");
    tap_ok(TAP_EQ(carry_cpu_set_mask("avx512bw"), CARRY_OK) && TAP_TRUE(is_gone(with_avx512bw)) &&
               TAP_EQ(carry_cpu_has("avx2"), avx2),
           "no AVX-512BW, no AVX-512, but AVX2");
    carry_cpu_set_mask("");
}

static int set_mask(const char *before, const char *name) {
    char mask[100];
    snprintf(mask, sizeof mask, "%s%s", before, name);
    return carry_cpu_set_mask(mask);
}

static void check_preference(const char *name, const char *capability) {
    carry_cpu_set_mask("");
    const bool can = carry_cpu_has(capability);
    tap_ok(TAP_EQ(set_mask("+", name), CARRY_OK) && TAP_EQ(carry_cpu_has(name), can),
           "\"+%s\" prefers it where the CPU can", name);
    tap_ok(TAP_EQ(set_mask("", name), CARRY_OK) && TAP_TRUE(!carry_cpu_has(name)) &&
               TAP_EQ(carry_cpu_has(capability), can),
           "\"%s\" masks the preference, not %s", name, capability);
    tap_ok(TAP_EQ(set_mask("all,+", name), CARRY_OK) && TAP_TRUE(!carry_cpu_has(name)),
           "%s needs the capability", name);
}

static void test_preferences(const enum carry_cpu_state *all) {
    const struct {
        const char *name, *capability;
    } rows[] = {
        {"prefer512", "avx512bw"},   {"prefer512_copies", "avx512bw"},
        {"prefer_multiply", "avx2"}, {"prefer_masks", "avx512vl"},
        {"early_rep", "erms"},       {"fast_xgetbv1", carry_cpu_has("avx") ? "xgetbv1" : "avx"}};
    struct carry_cpu_feature feature;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (find_feature(rows[i].name, &feature))
            check_preference(rows[i].name, rows[i].capability);
        else
            tap_skip(rows[i].name, "%s has no such preference", carry_cpu_arch());
    tap_ok(TAP_EQ(carry_cpu_set_mask(""), CARRY_OK) && TAP_TRUE(same_states(all)),
           "the preferences are restored");
}

static void test_syntax(const enum carry_cpu_state *all) {
    static const struct {
        const char *mask;
        int error;
    } rows[] = {
        {"", CARRY_OK},
        {",", CARRY_OK},
        {"all,", CARRY_OK},
        {",,all", CARRY_OK},
        {"all,all", CARRY_OK},
        {"none", CARRY_ERROR_UNKNOWN},
        {"al", CARRY_ERROR_UNKNOWN},
        {"alll", CARRY_ERROR_UNKNOWN},
        {"ALL", CARRY_ERROR_UNKNOWN},
        {"all none", CARRY_ERROR_UNKNOWN},
        {" all", CARRY_ERROR_UNKNOWN},
        {"all,none", CARRY_ERROR_UNKNOWN},
        {"+", CARRY_ERROR_UNKNOWN},
        {"+all", CARRY_ERROR_UNKNOWN},
        {"+none", CARRY_ERROR_UNKNOWN},
        {"++prefer512", CARRY_ERROR_UNKNOWN},
        {"-all", CARRY_ERROR_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        carry_cpu_set_mask("");
        int error = carry_cpu_set_mask(rows[i].mask);
        tap_ok(TAP_EQ(error, rows[i].error) && TAP_TRUE(error == CARRY_OK || same_states(all)),
               "mask \"%s\": %d", rows[i].mask, rows[i].error);
    }
    carry_cpu_set_mask("");
}

/* A name must match completely: a prefix, or a longer text, is unknown. */
static void test_names(void) {
    bool ok = true;
    for (size_t i = 0; i < feature_count(); i++) {
        const char *name = feature_at(i).name;
        char longer[100], shorter[100], forced[100];
        snprintf(longer, sizeof longer, "%sx", name);
        snprintf(shorter, sizeof shorter, "%.*s?", (int)strlen(name) - 1, name);
        snprintf(forced, sizeof forced, "+%s", name);
        const int wanted = feature_at(i).is_preference ? CARRY_OK : CARRY_ERROR_INVALID;
        ok = ok && TAP_EQ(carry_cpu_set_mask(longer), CARRY_ERROR_UNKNOWN) &&
             TAP_EQ(carry_cpu_set_mask(shorter), CARRY_ERROR_UNKNOWN) &&
             TAP_EQ(carry_cpu_set_mask(forced), wanted);
    }
    tap_ok(ok, "names must match completely, and \"+\" is only for preferences");
    carry_cpu_set_mask("");
}

static void test_errors_change_nothing(void) {
    enum carry_cpu_state masked[FEATURES_MAX];
    carry_cpu_set_mask("all");
    take_snapshot(masked);
    bool ok =
        TAP_EQ(carry_cpu_set_mask("none"), CARRY_ERROR_UNKNOWN) && TAP_TRUE(same_states(masked));
    carry_cpu_set_mask("");
    take_snapshot(masked);
    ok = ok && TAP_EQ(carry_cpu_set_mask("all,none"), CARRY_ERROR_UNKNOWN) &&
         TAP_TRUE(same_states(masked));
    tap_ok(ok, "after an error the old mask remains");
}

#define MODEL_BYTES 64

/* Removes blanks at the beginning and at the end, and reduces repeated blanks to one. */
static void squeeze_blanks(char *text) {
    size_t used = 0;
    for (const char *p = text; *p; p++)
        if (*p != ' ' || (used && text[used - 1] != ' '))
            text[used++] = *p;
    while (used && text[used - 1] == ' ')
        used--;
    text[used] = '\0';
}

static void test_model(void) {
    char whole[MODEL_BYTES], part[MODEL_BYTES + 1], brand[CPU_BRAND_BYTES];
    memset(whole, '?', sizeof whole);
    carry_cpu_model(whole, sizeof whole);
    bool ok = TAP_NE(memchr(whole, '\0', sizeof whole), NULL);
    if (cpu_brand(brand)) {
        squeeze_blanks(brand);
        tap_ok(TAP_TRUE(ok) && TAP_STREQ(whole, brand), "the model is \"%s\"", brand);
    } else {
        tap_skip("the model", "there is no other source for it");
    }
    for (size_t size = 0; size <= MODEL_BYTES && ok; size++) {
        memset(part, '?', sizeof part);
        carry_cpu_model(part, size);
        const size_t used = size ? strnlen(part, size) : 0;
        ok = TAP_EQ(part[size], '?') && TAP_TRUE(!size || used < size) &&
             TAP_MEMEQ(part, whole, used);
    }
    tap_ok(ok, "the model is terminated and truncated at every size");
}

static bool nothing_is_masked(void) {
    for (size_t i = 0; i < feature_count(); i++)
        if (feature_at(i).state == CARRY_CPU_MASKED)
            return false;
    return carry_cpu_host_mask_error() == CARRY_OK;
}

static bool all_is_masked(void) {
    for (size_t i = 0; i < feature_count(); i++)
        if (feature_at(i).state == CARRY_CPU_PRESENT)
            return false;
    return carry_cpu_host_mask_error() == CARRY_OK;
}

static bool mask_is_unknown(void) {
    return carry_cpu_host_mask_error() == CARRY_ERROR_UNKNOWN && !carry_cpu_has("") &&
           state_of_feature("avx2") != CARRY_CPU_MASKED &&
           state_of_feature("neon") != CARRY_CPU_MASKED;
}

static bool call_overrides(void) {
    bool masked = all_is_masked();
    return masked && carry_cpu_set_mask("") == CARRY_OK && nothing_is_masked();
}

/* Returns whether a mask that is set before the first use is kept: the host's mask does not
   replace it. */
static bool early_call_stands(void) {
    carry_cpu_set_mask("");
    return nothing_is_masked();
}

static void test_environment(void) {
    tap_ok(child_says(NULL, nothing_is_masked), "without CARRY_CPU_MASK nothing is masked");
    tap_ok(child_says("", nothing_is_masked), "CARRY_CPU_MASK=\"\" masks nothing");
    tap_ok(child_says("all", all_is_masked), "CARRY_CPU_MASK=all masks everything");
    tap_ok(child_says("none", mask_is_unknown), "a wrong CARRY_CPU_MASK is an error, and no mask");
    tap_ok(child_says("all", call_overrides), "carry_cpu_set_mask() replaces CARRY_CPU_MASK");
    tap_ok(child_says("all", early_call_stands),
           "a mask set by carry_cpu_set_mask() before the first use remains");
}

int main(void) {
    enum carry_cpu_state all[FEATURES_MAX];
    test_environment();
    test_table();
    carry_cpu_set_mask("");
    take_snapshot(all);
    test_detection();
    test_one_by_one(all);
    test_all(all);
    test_cascade();
    test_preferences(all);
    test_syntax(all);
    test_names();
    test_errors_change_nothing();
    test_model();
    return tap_done();
}
