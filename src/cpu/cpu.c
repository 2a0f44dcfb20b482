/* SPDX-License-Identifier: MIT */
/* The features in effect: the detected features, without the features that the mask removes, and
 * with the preferences that it forces. */
#include "cpu/cpu_internal.h"

#include "base/host.h"

#define NOTHING      0
#define ON(name)     CARRY_CPU_BIT(name)
#define NO_STATE     0
#define AVX_STATE    0x6  /* SSE, AVX */
#define AVX512_STATE 0xe6 /* SSE, AVX, opmask, ZMM_Hi256, Hi16_ZMM */
#define EAX          0
#define EBX          1
#define ECX          2
#define CPUID(leaf_, subleaf_, reg_, bit_, state_)                                                 \
    .kind = CARRY_CPU_KIND_CPUID, .leaf = leaf_, .subleaf = subleaf_, .reg = reg_, .bit = bit_,    \
    .state = state_
#define HWCAP(bit_)  .kind = CARRY_CPU_KIND_HWCAP, .leaf = CARRY_HOST_HWCAP, .bit = bit_
#define HWCAP2(bit_) .kind = CARRY_CPU_KIND_HWCAP, .leaf = CARRY_HOST_HWCAP2, .bit = bit_
#define BASE         .kind = CARRY_CPU_KIND_BASE
#define PREFERENCE   .kind = CARRY_CPU_KIND_PREFERENCE

#define ROW(arch, name_, found, builds_on_, description_)                                          \
    CARRY_ROWS_##arch(                                                                             \
        {.name = #name_, .description = description_, .builds_on = builds_on_, found}, )
/* The empty last row keeps the table valid C on an architecture without features. */
static const struct carry_cpu_row rows[CARRY_CPU_COUNT + 1] = {CARRY_CPU_FEATURES(ROW)};

#define READY (UINT32_C(1) << 31)
_Static_assert(CARRY_CPU_COUNT < 31, "the feature bits and READY share 32 bits");

/* detected_word and effective_word hold READY once they are written. Threads that race at the first
 * use compute the same values, so relaxed stores are enough. */
static uint32_t detected_word;
static uint32_t effective_word;
static int host_mask_error;

struct mask {
    uint32_t removed;
    uint32_t forced;
};

static const struct carry_cpu_fact *preference_fact(size_t index) {
    return rows[index].kind == CARRY_CPU_KIND_PREFERENCE ? carry_cpu_fact(index) : NULL;
}

static bool detect_feature(size_t index) {
    const struct carry_cpu_fact *fact = preference_fact(index);
    return fact ? fact->holds : carry_cpu_detect(&rows[index]);
}

static uint32_t detected_features(void) {
    uint32_t bits = __atomic_load_n(&detected_word, __ATOMIC_RELAXED);
    if (bits & READY)
        return bits & ~READY;
    bits = 0;
    for (size_t i = 0; i < CARRY_CPU_COUNT; i++)
        if ((rows[i].builds_on & ~bits) == 0 && detect_feature(i))
            bits |= UINT32_C(1) << i;
    __atomic_store_n(&detected_word, bits | READY, __ATOMIC_RELAXED);
    return bits;
}

/* Returns the evidence for a preference. NULL if there is none, or the CPU lacks a feature on which
 * the preference builds. */
static const char *preference_evidence(size_t index) {
    const struct carry_cpu_fact *fact = preference_fact(index);
    return fact && (rows[index].builds_on & ~detected_features()) == 0 ? fact->evidence : NULL;
}

static void apply_mask(struct mask mask) {
    uint32_t wanted = (detected_features() & ~mask.removed) | mask.forced;
    uint32_t bits = 0;
    for (size_t i = 0; i < CARRY_CPU_COUNT; i++)
        if ((rows[i].builds_on & ~bits) == 0)
            bits |= wanted & UINT32_C(1) << i;
    __atomic_store_n(&effective_word, bits | READY, __ATOMIC_RELAXED);
}

static bool name_equals(const char *text, size_t size, const char *name) {
    while (size && *name && *text == *name)
        text++, name++, size--;
    return size == 0 && *name == '\0';
}

static size_t find_feature(const char *text, size_t size) {
    size_t i = 0;
    while (i < CARRY_CPU_COUNT && !name_equals(text, size, rows[i].name))
        i++;
    return i;
}

static int parse_mask_item(const char *text, size_t size, struct mask *mask) {
    bool force = size && *text == '+';
    text += force;
    size -= force;
    if (size == 0 && !force)
        return 0;
    if (!force && name_equals(text, size, "all")) {
        mask->removed = ~READY;
        return 0;
    }
    size_t index = find_feature(text, size);
    if (index == CARRY_CPU_COUNT)
        return CARRY_ERROR_UNKNOWN;
    if (force && rows[index].kind != CARRY_CPU_KIND_PREFERENCE)
        return CARRY_ERROR_INVALID;
    *(force ? &mask->forced : &mask->removed) |= UINT32_C(1) << index;
    return 0;
}

int carry_cpu_set_mask(const char *text) {
    struct mask mask = {0, 0};
    if (!text)
        text = "";
    for (;;) {
        size_t size = 0;
        while (text[size] && text[size] != ',')
            size++;
        int error = parse_mask_item(text, size, &mask);
        if (error)
            return error;
        if (!text[size])
            break;
        text += size + 1;
    }
    apply_mask(mask);
    return 0;
}

uint32_t carry_cpu_bits(void) {
    uint32_t bits = __atomic_load_n(&effective_word, __ATOMIC_RELAXED);
    if (bits & READY)
        return bits & ~READY;
    int error = carry_cpu_set_mask(carry_host_cpu_mask());
    if (error)
        carry_cpu_set_mask(NULL);
    __atomic_store_n(&host_mask_error, error, __ATOMIC_RELAXED);
    return carry_cpu_bits();
}

int carry_cpu_host_mask_error(void) {
    carry_cpu_bits();
    return __atomic_load_n(&host_mask_error, __ATOMIC_RELAXED);
}

const char *carry_cpu_first_name(uint32_t bits) {
    return bits ? rows[__builtin_ctz(bits)].name : NULL;
}

bool carry_cpu_has(const char *name) {
    size_t size = 0;
    while (name && name[size])
        size++;
    size_t index = find_feature(name, size);
    return index < CARRY_CPU_COUNT && carry_cpu_bits() >> index & 1;
}

bool carry_cpu_feature(size_t index, struct carry_cpu_feature *feature) {
    if (index >= CARRY_CPU_COUNT)
        return false;
    bool in_use = carry_cpu_bits() >> index & 1;
    feature->name = rows[index].name;
    feature->description = rows[index].description;
    feature->is_preference = rows[index].kind == CARRY_CPU_KIND_PREFERENCE;
    feature->evidence = preference_evidence(index);
    feature->state = in_use                             ? CARRY_CPU_PRESENT
                     : detected_features() >> index & 1 ? CARRY_CPU_MASKED
                                                        : CARRY_CPU_ABSENT;
    return true;
}

const char *carry_cpu_arch(void) {
    return CARRY_ARCH_NAME;
}

void carry_cpu_model(char *name, size_t size) {
    if (size)
        carry_cpu_detect_model(name, size);
}
