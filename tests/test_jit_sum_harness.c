/* SPDX-License-Identifier: MIT */
/* Tests that the check of sums made at run time catches its mutants: broken/jit_sum.def. */
#include <string.h>
#include <sys/mman.h>

#include <carry/cpu.h>
#include <carry/jit.h>

#include "harness/check_jit_sum.h"
#include "harness/fault.h"
#include "harness/tap.h"

struct twin {
    const char *name;
    struct carry_jit_sum_spec spec;
    const char *right, *broken;
    size_t bytes; /* of each of the two */
    const char *message;
};

#define BROKEN_JIT(name, right, broken, message, ...)                                              \
    {#name, {__VA_ARGS__}, right, broken, sizeof(right) - 1, message},
static const struct twin twins[] = {
#include "broken/jit_sum.def"
};
#undef BROKEN_JIT
#define BROKEN_JIT(name, right, broken, ...)                                                       \
    _Static_assert(sizeof(right) == sizeof(broken), "both have the same size");
#include "broken/jit_sum.def"
#undef BROKEN_JIT

/* Returns the last place of `wanted` in the text, or NULL. */
static unsigned char *find_last(unsigned char *text, size_t size, const char *wanted,
                                size_t bytes) {
    for (size_t at = size - bytes + 1; at-- > 0;)
        if (!memcmp(text + at, wanted, bytes))
            return text + at;
    return NULL;
}

/* Returns an executable copy of the text with replaced bytes; NULL if the text lacks them. */
static void *exchanged(const struct carry_jit *jit, const struct twin *twin) {
    unsigned char *text =
        mmap(NULL, jit->text_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (text == MAP_FAILED)
        return NULL;
    memcpy(text, (const void *)(uintptr_t)jit->sum, jit->text_size);
    unsigned char *place = find_last(text, jit->text_size, twin->right, twin->bytes);
    if (place)
        memcpy(place, twin->broken, twin->bytes);
    if (place && !mprotect(text, jit->text_size, PROT_READ | PROT_EXEC))
        return text;
    munmap(text, jit->text_size);
    return NULL;
}

static void test_twin(const struct twin *twin) {
    const struct carry_jit *jit;
    const int error = carry_jit_sum(&twin->spec, &jit);
    if (error == CARRY_ERROR_UNSUPPORTED) {
        tap_skip(twin->name, "this CPU lacks vectors of %u bits", twin->spec.vector_bits);
        return;
    }
    void *text = error ? NULL : exchanged(jit, twin);
    if (!tap_ok(text, "%s can be made", twin->name))
        return;
    const struct carry_jit broken = {.sum = (carry_sum_fn *)(uintptr_t)text};
    struct verdict verdict = check_jit_sum(&twin->spec, jit, &effort_short);
    tap_ok(verdict.ok, "%s: the original passes: %s", twin->name, verdict.text);
    verdict = check_jit_sum(&twin->spec, &broken, &effort_short);
    tap_ok(TAP_TRUE(!verdict.ok) && TAP_TRUE(strstr(verdict.text, twin->message)),
           "%s is caught: %s", twin->name, verdict.text);
    munmap(text, jit->text_size);
    carry_jit_release(jit);
}

int main(void) {
    if (fault_under_valgrind())
        return tap_skip_all("valgrind reports faults as errors of the program");
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        test_twin(&twins[i]);
    return tap_done();
}
