/* SPDX-License-Identifier: MIT */
/* Tests that the check of sums made at run time catches its mutants: mutants/jit_sum.def. */
#include <string.h>
#include <sys/mman.h>

#include <carry/cpu.h>
#include <carry/jit.h>

#include "harness/check_jit_sum.h"
#include "harness/fault.h"
#include "harness/tap.h"

struct mutant {
    const char *name;
    struct carry_jit_sum_spec spec;
    const char *right, *broken;
    size_t bytes; /* the size of `right` and of `broken` */
    const char *message;
};

#define BROKEN_JIT(name, right, broken, message, ...)                                              \
    {#name, {__VA_ARGS__}, right, broken, sizeof(right) - 1, message},
static const struct mutant mutants[] = {
#include "mutants/jit_sum.def"
};
#undef BROKEN_JIT
#define BROKEN_JIT(name, right, broken, ...)                                                       \
    _Static_assert(sizeof(right) == sizeof(broken), "both have the same size");
#include "mutants/jit_sum.def"
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
static void *exchange_bytes(const struct carry_jit *jit, const struct mutant *mutant) {
    unsigned char *text =
        mmap(NULL, jit->text_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (text == MAP_FAILED)
        return NULL;
    memcpy(text, (const void *)(uintptr_t)jit->sum, jit->text_size);
    unsigned char *place = find_last(text, jit->text_size, mutant->right, mutant->bytes);
    if (place)
        memcpy(place, mutant->broken, mutant->bytes);
    if (place && !mprotect(text, jit->text_size, PROT_READ | PROT_EXEC))
        return text;
    munmap(text, jit->text_size);
    return NULL;
}

static void test_mutant(const struct mutant *mutant) {
    const struct carry_jit *jit;
    const int error = carry_jit_sum(&mutant->spec, &jit);
    if (error == CARRY_ERROR_UNSUPPORTED) {
        tap_skip(mutant->name, "this CPU lacks vectors of %u bits", mutant->spec.vector_bits);
        return;
    }
    void *text = error ? NULL : exchange_bytes(jit, mutant);
    if (!tap_ok(text, "%s can be made", mutant->name))
        return;
    const struct carry_jit broken = {.sum = (carry_sum_fn *)(uintptr_t)text};
    struct verdict verdict = check_jit_sum(&mutant->spec, jit, &effort_short);
    tap_ok(verdict.ok, "%s: the original passes: %s", mutant->name, verdict.text);
    verdict = check_jit_sum(&mutant->spec, &broken, &effort_short);
    tap_ok(TAP_TRUE(!verdict.ok) && TAP_TRUE(strstr(verdict.text, mutant->message)),
           "%s is caught: %s", mutant->name, verdict.text);
    munmap(text, jit->text_size);
    carry_jit_release(jit);
}

int main(void) {
    if (fault_under_valgrind())
        return tap_skip_all("valgrind reports faults as errors of the program");
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        test_mutant(&mutants[i]);
    return tap_done();
}
