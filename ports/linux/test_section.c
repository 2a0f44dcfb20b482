/* SPDX-License-Identifier: MIT */
/*
 * Tests sections in threads and interrupts, and operations in contexts where sections are refused.
 */
#include <linux/completion.h>
#include <linux/hardirq.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <net/checksum.h>

#include "carry_linux.h"
#include "selftest.h"

#define BYTES 9001 /* more than two sections */

/* The buffers of an operation, and the expected results. */
struct work {
    u8 from[BYTES];
    u8 to[BYTES];
    __sum16 sum;
    u32 crc;
};

static struct work *new_work(struct carry_test *test) {
    struct work *work = kvmalloc(sizeof *work, GFP_KERNEL);

    if (!work) {
        carry_test_fail(test, "no memory");
        return NULL;
    }
    carry_test_fill(work->from, BYTES);
    work->sum = csum_fold(csum_partial(work->from, BYTES, 0));
    work->crc = carry_crc32c_generic(work->from, BYTES, 0);
    return work;
}

static bool is_copied(struct work *work) {
    bool equal = !memcmp(work->from, work->to, BYTES);

    memset(work->to, 0, BYTES);
    return equal;
}

/* Runs each operation once. Returns whether all results are right. Context: any. */
static bool is_done_right(struct work *work) {
    bool right =
        csum_fold(carry_csum_partial(work->from, BYTES, 0)) == work->sum &&
        csum_fold(carry_csum_partial_copy_nocheck(work->from, work->to, BYTES)) == work->sum &&
        is_copied(work) && carry_crc32c(work->from, BYTES, 0) == work->crc;

    carry_copy(work->to, work->from, BYTES);
    return right && is_copied(work);
}

/* Returns how many operations use vectors. */
static unsigned int vector_operations(void) {
    unsigned int count = 0;
    int operation;

    for (operation = 0; operation < CARRY_OPERATIONS; operation++)
        count += carry_thresholds[operation] == 0;
    return count;
}

/* --- Contexts --- */

struct visit {
    struct hrtimer timer;
    struct completion done;
    struct work *work;
    bool in_hard_interrupt;
    bool in_soft_interrupt;
    bool right;
};

static enum hrtimer_restart on_visit(struct hrtimer *timer) {
    struct visit *visit = container_of(timer, struct visit, timer);

    visit->in_hard_interrupt = in_hardirq();
    visit->in_soft_interrupt = in_serving_softirq();
    visit->right = is_done_right(visit->work);
    complete(&visit->done);
    return HRTIMER_NORESTART;
}

/* Runs `work` once in the handler of a timer of mode `mode`. */
static void visit_by(struct visit *visit, struct work *work, enum hrtimer_mode mode) {
    visit->work = work;
    init_completion(&visit->done);
    hrtimer_init_on_stack(&visit->timer, CLOCK_MONOTONIC, mode);
    visit->timer.function = on_visit;
    hrtimer_start(&visit->timer, ns_to_ktime(100 * NSEC_PER_USEC), mode);
    wait_for_completion(&visit->done);
    hrtimer_cancel(&visit->timer);
    destroy_hrtimer_on_stack(&visit->timer);
}

/* Checks that vector registers are refused in an NMI, where Linux would warn about a request for
 * them. Enters the NMI like nmi_enter(), with interrupts off. */
static void check_nmi(struct carry_test *test, struct work *work) {
    bool usable, right;

    preempt_count_add(NMI_OFFSET + HARDIRQ_OFFSET);
    usable = carry_vectors_usable();
    right = is_done_right(work);
    preempt_count_sub(NMI_OFFSET + HARDIRQ_OFFSET);
    carry_expect(test, !usable, "an NMI gets a section");
    carry_expect(test, right, "wrong in an NMI");
}

void carry_test_contexts(struct carry_test *test) {
    struct work *work = new_work(test);
    struct visit hard, soft;

    if (!work)
        return;
    carry_expect(test, carry_vectors_usable(), "a thread gets no section");
    carry_expect(test, is_done_right(work), "wrong in a thread");

    visit_by(&hard, work, HRTIMER_MODE_REL_HARD);
    carry_expect(test, hard.in_hard_interrupt, "the timer does not fire in a hard interrupt");
    carry_expect(test, hard.right, "wrong in a hard interrupt");

    visit_by(&soft, work, HRTIMER_MODE_REL_SOFT);
    carry_expect(test, soft.in_soft_interrupt, "the timer does not fire in a soft interrupt");
    carry_expect(test, soft.right, "wrong in a soft interrupt");

    local_irq_disable();
    carry_expect(test, is_done_right(work), "wrong with interrupts off");
    check_nmi(test, work);
    local_irq_enable();
    kvfree(work);
}

/* --- Inside another section, whose registers must not change --- */

void carry_test_nested(struct carry_test *test) {
    struct work *work = new_work(test);
    u8 before[MACHINE_VECTOR_BYTES], after[MACHINE_VECTOR_BYTES];
    unsigned long refusals;
    bool usable, right;

    if (!work)
        return;
    carry_test_fill(before, sizeof before);
    machine_begin();
    refusals = this_cpu_read(carry_refusals);
    machine_load_vectors(before);
    usable = carry_vectors_usable();
    right = is_done_right(work);
    machine_store_vectors(after);
    refusals = this_cpu_read(carry_refusals) - refusals;
    machine_end();

    carry_expect(test, !usable, "a section begins inside of another");
    carry_expect(test, right, "wrong inside of a section");
    carry_expect(test, !memcmp(before, after, sizeof before),
                 "the registers of the outer section change");
    carry_expect(test, refusals == vector_operations(), "%lu calls are refused vectors, not %u",
                 refusals, vector_operations());
    kvfree(work);
}

/* Returns how often a sum of `size` bytes is refused vectors. Must be called inside a section. */
static unsigned long refusals_of(const struct work *work, size_t size) {
    unsigned long before = this_cpu_read(carry_refusals);

    carry_csum_partial(work->from, size, 0);
    return this_cpu_read(carry_refusals) - before;
}

void carry_test_threshold(struct carry_test *test) {
    struct work *work = new_work(test);
    unsigned long below, from;

    if (!work)
        return;
    carry_set_thresholds(64);
    machine_begin();
    below = refusals_of(work, 63);
    from = refusals_of(work, 64);
    machine_end();
    carry_set_thresholds(0);

    carry_expect(test, !below, "vectors are used below the threshold");
    carry_expect(test, from == carry_choices[CARRY_SUMS].is_vector,
                 "%lu uses of vectors at the threshold", from);
    kvfree(work);
}

/* --- Interrupts at any point of a section --- */

#define INTERRUPT_NS 50000
#define TIME_NS      (200 * NSEC_PER_MSEC)
#define PATIENCE_NS                                                                                \
    (30 * NSEC_PER_SEC) /* long: on a busy machine, interrupts may miss all sections for a while   \
                         */

struct interrupts {
    struct hrtimer timer;
    struct work *work;
    unsigned int in_sections;
    unsigned int elsewhere;
    unsigned int wrong;
};

static enum hrtimer_restart work_in_section_interrupt(struct hrtimer *timer) {
    struct interrupts *interrupts = container_of(timer, struct interrupts, timer);

    if (machine_is_in_section())
        interrupts->in_sections++;
    else
        interrupts->elsewhere++;
    interrupts->wrong += !is_done_right(interrupts->work);
    hrtimer_forward_now(timer, ns_to_ktime(INTERRUPT_NS));
    return HRTIMER_RESTART;
}

/* Returns whether to continue. If sections are possible, continues until an interrupt has hit one.
 */
static bool goes_on(const struct interrupts *interrupts, u64 start) {
    u64 passed = ktime_get_ns() - start;
    bool is_due = vector_operations() && !READ_ONCE(interrupts->in_sections);

    return passed < TIME_NS || (is_due && passed < PATIENCE_NS);
}

/* Tests interrupts at any point of a section. The timer belongs to this CPU, so the thread must not
   migrate. */
void carry_test_interrupts(struct carry_test *test) {
    struct work *work = new_work(test);
    struct interrupts interrupts = {.work = new_work(test)};
    unsigned int wrong = 0;
    u64 start = ktime_get_ns();

    if (!work || !interrupts.work) {
        kvfree(interrupts.work);
        kvfree(work);
        return;
    }
    migrate_disable();
    hrtimer_init_on_stack(&interrupts.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
    interrupts.timer.function = work_in_section_interrupt;
    hrtimer_start(&interrupts.timer, ns_to_ktime(INTERRUPT_NS), HRTIMER_MODE_REL_PINNED_HARD);
    while (goes_on(&interrupts, start)) {
        wrong += !is_done_right(work);
        cond_resched();
    }
    hrtimer_cancel(&interrupts.timer);
    destroy_hrtimer_on_stack(&interrupts.timer);
    migrate_enable();

    seq_printf(test->out, "# interrupts: %u in sections, %u elsewhere\n", interrupts.in_sections,
               interrupts.elsewhere);
    carry_expect(test, !wrong, "wrong %u times in a thread", wrong);
    carry_expect(test, !interrupts.wrong, "wrong %u times in an interrupt", interrupts.wrong);
    carry_expect(test, !vector_operations() || interrupts.in_sections,
                 "no interrupt hit a section");
    carry_expect(test, interrupts.in_sections + interrupts.elsewhere, "no interrupt came");
    kvfree(interrupts.work);
    kvfree(work);
}
