/* SPDX-License-Identifier: MIT */
#include "harness/call.h"

#include <string.h>

#include "harness/call_stack.h"
#include "harness/call_x86_64.h"
#include "harness/cpu.h"
#include "harness/rng.h"

struct snapshot {
    uint32_t xinuse;
    uint32_t mxcsr;
    uint16_t x87[14]; /* FNSTENV: word 0 is the control word, word 4 the tag word */
    uint32_t unused[3];
    struct {
        unsigned char ymm[16][16];
        unsigned char zmm[16][32];
    } uppers;
};

struct frame {
    uint64_t arguments[3];
    uint64_t clobbered[6];
    uint64_t saved[6];
    unsigned char *stack;
    uint64_t flags;
    uint64_t has;
    struct snapshot entry;
    struct snapshot back;
    uint64_t after[6];
    unsigned char *stack_after;
    uint64_t flags_after;
    uint64_t result;
    void *caller_stack;
    unsigned char garbage[32 * 64 + 8 * 8];
};

#define AT(field, offset) _Static_assert(offsetof(struct frame, field) == (offset), #field)
AT(arguments, FRAME_ARGUMENTS);
AT(clobbered, FRAME_VOLATILE);
AT(saved, FRAME_SAVED);
AT(stack, FRAME_STACK);
AT(flags, FRAME_FLAGS);
AT(has, FRAME_HAS);
AT(entry, FRAME_ENTRY);
AT(back, FRAME_RETURN);
AT(back.mxcsr, FRAME_RETURN + SNAP_MXCSR);
AT(back.x87, FRAME_RETURN + SNAP_X87);
AT(back.uppers.ymm, FRAME_RETURN + SNAP_YMM);
AT(back.uppers.zmm, FRAME_RETURN + SNAP_ZMM);
AT(after, FRAME_AFTER);
AT(stack_after, FRAME_STACK_AFTER);
AT(flags_after, FRAME_FLAGS_AFTER);
AT(result, FRAME_RESULT);
AT(caller_stack, FRAME_CALLER_STACK);
AT(garbage, FRAME_GARBAGE);

void call_x86_64(struct frame *frame, call_fn *fn);

static struct frame frame;

#define FLAG_DIRECTION   0x400
#define FLAGS_ARITHMETIC 0x8d5 /* carry, parity, adjust, zero, sign, overflow */
#define FLAGS_ALWAYS     0x202 /* bit 1 reads as 1; interrupts remain enabled */
#define XINUSE_UPPERS    0x44  /* upper halves of ymm0 to ymm15, and of zmm0 to zmm15 */

static uint64_t find_has(void) {
    if (!__builtin_cpu_supports("avx"))
        return 0;
    bool avx512 = __builtin_cpu_supports("avx512bw");
    return HAS_AVX | (cpu_tracks_use() ? HAS_XINUSE : 0) | (avx512 ? HAS_AVX512 : 0);
}

static void prepare_once(void) {
    static bool done;
    if (done)
        return;
    done = true;
    frame.has = find_has();
    rng_fill(frame.garbage, sizeof frame.garbage);
}

static void prepare_frame(bool dirty) {
    prepare_once();
    frame.stack = call_stack_top();
    if (!dirty)
        return;
    rng_fill(frame.clobbered, sizeof frame.clobbered);
    rng_fill(frame.saved, sizeof frame.saved);
    frame.flags = FLAGS_ALWAYS | (rng_next() & FLAGS_ARITHMETIC);
}

static void judge_registers(struct verdict *verdict) {
    static const char *const names[6] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};
    for (int i = 0; i < 6; i++)
        if (frame.after[i] != frame.saved[i])
            verdict_fail(verdict, "clobbers %s; ", names[i]);
    if (frame.stack_after != frame.stack)
        verdict_fail(verdict, "moves rsp by %td; ", frame.stack_after - frame.stack);
    if (frame.flags_after & FLAG_DIRECTION)
        verdict_fail(verdict, "leaves the direction flag set; ");
}

static void judge_vectors(struct verdict *verdict) {
    static const unsigned char clean[sizeof frame.back.uppers];
    bool seen_by_value =
        (frame.has & HAS_AVX) && memcmp(&frame.back.uppers, clean, sizeof clean) != 0;
    bool seen_by_xinuse = (frame.has & HAS_XINUSE) && (frame.back.xinuse & XINUSE_UPPERS) &&
                          !(frame.entry.xinuse & XINUSE_UPPERS);
    if (seen_by_value || seen_by_xinuse)
        verdict_fail(verdict, "leaves the upper halves of vectors dirty; ");
}

static void judge_float(struct verdict *verdict) {
    if (frame.back.mxcsr != frame.entry.mxcsr)
        verdict_fail(verdict, "changes MXCSR; ");
    if (frame.back.x87[0] != frame.entry.x87[0])
        verdict_fail(verdict, "changes the x87 control word; ");
    if (frame.back.x87[4] != frame.entry.x87[4])
        verdict_fail(verdict, "leaves x87 registers in use; ");
}

/* Returns the address of argument `index` in the frame: the first three arguments are in an array
   of their own, the fourth is one of the clobbered registers. */
static uint64_t *argument_register(size_t index) {
    const size_t rcx = 1;
    return index < 3 ? &frame.arguments[index] : &frame.clobbered[rcx];
}

uint64_t call_words(call_fn *fn, const uint64_t *words, size_t count, bool dirty,
                    struct verdict *verdict) {
    prepare_frame(dirty);
    for (size_t i = 0; i < count; i++)
        *argument_register(i) = words[i];
    call_x86_64(&frame, fn);
    judge_registers(verdict);
    call_stack_judge(verdict);
    judge_vectors(verdict);
    judge_float(verdict);
    return frame.result;
}

const char *call_limits(void) {
    prepare_once();
    if (!(frame.has & HAS_AVX))
        return "no AVX: nothing can leave upper halves dirty";
    if (!(frame.has & HAS_XINUSE))
        return "XGETBV(1) does not track use here: upper halves are judged by their values";
    return NULL;
}
