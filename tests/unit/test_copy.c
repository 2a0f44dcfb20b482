/* SPDX-License-Identifier: MIT */
/*
 * Tests `copy`: every kernel with every check, the functions around them, and the choice among
 * them.
 */
#include <stdio.h>
#include <string.h>

#include <carry/copy.h>
#include <carry/cpu.h>

#include "copy/copy_choice.h"
#include "harness/call.h"
#include "harness/check_choice.h"
#include "harness/check_copies.h"
#include "harness/child.h"
#include "harness/tap.h"

static const struct effort *effort;

/* Tests the functions that call the chosen kernel, after `kernel` has been chosen. */
static void test_functions_by(const char *kernel) {
    tap_ok(TAP_EQ(carry_copy_select(kernel), CARRY_OK), "%s is selected", kernel);
    struct verdict verdict =
        check_copies_overlaps((struct copier){.copy = carry_copy_move}, effort);
    verdict_report(&verdict, "carry_copy_move by %s: distances", kernel);
    verdict = check_copies_overlap_edges((struct copier){.copy = carry_copy_move}, effort);
    verdict_report(&verdict, "carry_copy_move by %s: edges of both", kernel);
    verdict = check_copies_sampled((struct copier){.copy = carry_copy_stream}, effort);
    verdict_report(&verdict, "carry_copy_stream by %s: sizes to 5 MiB", kernel);
    verdict = check_copies_edges((struct copier){.copy = carry_copy_stream}, effort);
    verdict_report(&verdict, "carry_copy_stream by %s: edges", kernel);
}

/* Kernels for moves, which must pass the checks of copies, too. */
static const struct {
    const char *name;
    carry_copy_fn *move;
} moves[] = {
#define CARRY_COPY_KERNEL(arch, name, ...) CARRY_ROWS_##arch({#name, carry_copy_move_##name}, )
#include "copy/kernels.def"
#undef CARRY_COPY_KERNEL
};

static void test_move_of(size_t index) {
    char name[64];
    snprintf(name, sizeof name, "move by %s", moves[index].name);
    copies_check_all((struct copier){.copy = moves[index].move}, effort, name);
    tap_ok(TAP_EQ(carry_copy_select(moves[index].name), CARRY_OK) &&
               TAP_EQ(carry_get_carry_copy_move(), moves[index].move),
           "%s: the move is chosen with the kernel", name);
}

static void test_kernels(void) {
    struct carry_copy_kernel kernel;
    for (size_t i = 0; carry_copy_kernel(i, &kernel); i++) {
        if (kernel.missing) {
            tap_skip(kernel.name, "this CPU lacks %s", kernel.missing);
            continue;
        }
        copies_check_all((struct copier){.copy = kernel.copy}, effort, kernel.name);
        test_move_of(i);
        test_functions_by(kernel.name);
    }
    tap_ok(TAP_EQ(carry_copy_select(NULL), CARRY_OK), "the best kernel is selected again");
}

/* --- The choice of a kernel --- */

static bool copy_row(size_t index, struct choice_row *row) {
    struct carry_copy_kernel kernel;
    if (!carry_copy_kernel(index, &kernel))
        return false;
    *row = (struct choice_row){kernel.name, kernel.missing, !kernel.against, kernel.chosen};
    return true;
}

static bool copies_right(carry_copy_fn *copy) {
    char to[20] = "";
    copy(to, "nineteen characters", sizeof to);
    return !strcmp(to, "nineteen characters");
}

static void by_operation(void *dst, const void *src, size_t size) {
    carry_call(carry_copy)(dst, src, size);
}

static bool copy_works(void) {
    return copies_right(carry_copy);
}

static const struct choice choice = {copy_row, carry_copy_kernel_need, carry_copy_kernel_code,
                                     carry_copy_select, copy_works};

static bool first_call(void) {
    return copy_works() && choice_is_best(&choice);
}

static bool first_question(void) {
    return choice_is_best(&choice) && copy_works();
}

static bool first_move(void) {
    return copies_right(carry_copy_move) && first_call();
}

/*
 * Checks the first move after carry_patch_apply(), which also chooses a kernel where sites can be
 * patched.
 */
static bool first_patched(void) {
    carry_patch_apply(0);
    return first_move();
}

static void test_first_use(void) {
    tap_ok(TAP_TRUE(child_says(NULL, first_call)) && TAP_TRUE(child_says("all", first_call)),
           "the first call chooses a kernel");
    tap_ok(child_says(NULL, first_question), "the first question chooses a kernel");
    tap_ok(TAP_TRUE(child_says(NULL, first_move)) && TAP_TRUE(child_says("all", first_move)),
           "the first move chooses a kernel");
    tap_ok(child_says(NULL, first_patched), "patching sites chooses a kernel");
    tap_ok(child_says("prefer512_copies", first_call),
           "512 bits are chosen only where they are preferred");
}

static void test_choice(void) {
    choice_check_all(&choice);
    tap_ok(TAP_EQ(carry_copy_select("generic"), CARRY_OK) && TAP_TRUE(copies_right(by_operation)) &&
               TAP_EQ(carry_get_carry_copy(), carry_copy_generic),
           "the operation calls the chosen kernel");
    carry_copy_select(NULL);
}

int main(void) {
    effort = effort_chosen();
    effort_note(effort);
    if (call_limits())
        tap_note("%s", call_limits());
    test_first_use();
    test_choice();
    test_kernels();
    return tap_done();
}
