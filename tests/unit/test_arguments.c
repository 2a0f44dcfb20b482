/* SPDX-License-Identifier: MIT */
/*
 * Tests that public functions accept or refuse NULL, also in place of a name, and numbers out of
 * range, by the rule of <carry/base.h>.
 */
#include <carry/carry.h>

#include <limits.h>
#include <string.h>

#include "harness/tap.h"

#define NO_ENUMERATOR 99

static struct carry_context *never(void *argument, uintptr_t value) {
    (void)argument, (void)value;
    return NULL;
}

static bool refuses_stack(int error) {
    return error == CARRY_ERROR_INVALID || error == CARRY_ERROR_UNSUPPORTED;
}

static void test_context(void) {
    static struct carry_context context;
    static char stack[4096];
    tap_ok(TAP_TRUE(refuses_stack(carry_context_create(&context, NULL, 0, never, NULL))) &&
               TAP_TRUE(
                   refuses_stack(carry_context_create(&context, stack, sizeof stack, NULL, NULL))),
           "context.h: a missing stack or function is refused");
    carry_context_adopt(&context, NULL, 0);
    tap_ok(TAP_EQ(carry_context_keep(&context, NULL, 0, 0), CARRY_ERROR_SIZE),
           "context.h: a missing area is accepted");
    tap_ok(TAP_EQ(carry_context_area_size(~carry_xstate_enabled()), carry_context_area_size(0)),
           "context.h: unknown components are accepted");
}

static void test_copy(void) {
    struct carry_copy_kernel kernel;
    struct carry_kernel_code code;
    carry_copy(NULL, NULL, 0);
    carry_copy_move(NULL, NULL, 0);
    carry_copy_stream(NULL, NULL, 0);
    tap_ok(TAP_TRUE(!carry_copy_kernel(SIZE_MAX, &kernel)) &&
               TAP_TRUE(!carry_copy_kernel_need(SIZE_MAX, 0)) &&
               TAP_TRUE(!carry_copy_kernel_need(0, SIZE_MAX)) &&
               TAP_TRUE(!carry_copy_kernel_code(SIZE_MAX, &code)),
           "copy.h: indices out of range return false");
    tap_ok(TAP_EQ(carry_copy_select(NULL), CARRY_OK), "copy.h: no name selects the best kernel");
}

static void test_cpu(void) {
    struct carry_cpu_feature feature;
    char name[2] = "x";
    tap_ok(TAP_TRUE(!carry_cpu_has(NULL)) && TAP_TRUE(!carry_cpu_has("")),
           "cpu.h: a feature without a name is absent");
    tap_ok(!carry_cpu_feature(SIZE_MAX, &feature), "cpu.h: an index out of range returns false");
    carry_cpu_model(NULL, 0);
    carry_cpu_model(name, 1);
    tap_ok(TAP_TRUE(!*name) && TAP_TRUE(*carry_cpu_arch()),
           "cpu.h: a buffer of no size is accepted");
    const int host = carry_cpu_host_mask_error();
    tap_ok(TAP_EQ(carry_cpu_set_mask("all"), CARRY_OK) &&
               TAP_EQ(carry_cpu_set_mask(NULL), CARRY_OK) &&
               TAP_EQ(carry_cpu_host_mask_error(), host),
           "cpu.h: NULL is accepted as a mask");
    bool masked = false;
    for (size_t i = 0; carry_cpu_feature(i, &feature); i++)
        masked = masked || feature.state == CARRY_CPU_MASKED;
    tap_ok(!masked, "cpu.h: NULL masks nothing");
}

static void test_crc(void) {
    struct carry_sum_kernel kernel;
    struct carry_kernel_code code;
    tap_ok(TAP_EQ(carry_crc32c(NULL, 0, 7), 7), "crc.h: no bytes leave the CRC unchanged");
    tap_ok(TAP_TRUE(!carry_crc32c_kernel(SIZE_MAX, &kernel)) &&
               TAP_TRUE(!carry_crc32c_kernel_need(SIZE_MAX, 0)) &&
               TAP_TRUE(!carry_crc32c_kernel_need(0, SIZE_MAX)) &&
               TAP_TRUE(!carry_crc32c_kernel_code(SIZE_MAX, &code)),
           "crc.h: indices out of range return false");
    tap_ok(TAP_EQ(carry_crc32c_select(NULL), CARRY_OK), "crc.h: no name selects the best kernel");
}

static bool tries_nothing(void) {
    unsigned char value[8] = {1}, other[8] = {2};
    uint32_t sum = 7;
    return !carry_copy_try(NULL, NULL, 0) && !carry_sum_copy_try(NULL, NULL, 0, &sum) && sum == 7 &&
           !carry_read_try(value, other, 0) && !carry_write_try(other, value, 3) &&
           !carry_read_try(value, NULL, NO_ENUMERATOR);
}

static void test_fault(void) {
    tap_ok(tries_nothing(), "fault.h: no bytes and unsupported sizes are accepted");
    if (carry_fault_acquire() == CARRY_OK) {
        tap_ok(tries_nothing(),
               "fault.h: no bytes and unsupported sizes are accepted with handlers");
        carry_fault_release();
    }
    carry_fault_release();
}

static void test_hook(void) {
    struct carry_hook hook = {.object = NULL};
    tap_ok(TAP_TRUE(refuses_stack(carry_hook_attach_calls(&hook))) &&
               TAP_TRUE(refuses_stack(carry_hook_attach_entries(&hook))) &&
               TAP_TRUE(refuses_stack(carry_hook_attach_entry(&hook, NULL))),
           "hook.h: nothing to call, no function");
    int error = carry_hook_detach(&hook);
    tap_ok(!error || error == CARRY_ERROR_UNSUPPORTED, "hook.h: nothing attached");
    error = carry_hook_register(NULL, NULL);
    carry_hook_unregister(NULL);
    tap_ok(!error || error == CARRY_ERROR_UNSUPPORTED, "hook.h: no entries");
}

static void test_image(void) {
    static uint8_t image[16384];
    struct carry_xstate_layout layout, found;
    const enum carry_xstate_form form = (enum carry_xstate_form)NO_ENUMERATOR;
    carry_xstate_layout(&layout);
    tap_ok(TAP_EQ(carry_xstate_initial(&layout, 0, form, image, sizeof image), CARRY_ERROR_INVALID),
           "image.h: a form");
    tap_ok(TAP_EQ(carry_xstate_check_layout(&layout), 0) &&
               TAP_EQ(carry_xstate_check(&layout, NULL, 0), CARRY_XSTATE_REFUSED_SHORT) &&
               TAP_TRUE(carry_xstate_from_regset(NULL, 0, &found)) &&
               TAP_TRUE(carry_xstate_from_frame(NULL, 0, &found)) &&
               TAP_TRUE(carry_xstate_from_core(NULL, 0, NULL, 0, &found)),
           "image.h: no bytes");
    size_t size = sizeof image;
    tap_ok(TAP_EQ(carry_xstate_initial(&layout, 0, CARRY_XSTATE_STANDARD, image, size), CARRY_OK) &&
               TAP_TRUE(!carry_xstate_image_part(&layout, image, NO_ENUMERATOR, &size)) &&
               TAP_TRUE(carry_xstate_image_is_initial(&layout, image, NO_ENUMERATOR)) &&
               TAP_TRUE(!(carry_xstate_image_in_use(&layout, image) & ~layout.user & ~UINT64_C(3))),
           "image.h: an unknown component is not in use");
    const struct carry_xstate_target target = {
        .layout = &layout, .form = form, .image = image, .size = sizeof image};
    static uint8_t source[16384];
    carry_xstate_initial(&layout, 0, CARRY_XSTATE_STANDARD, source, sizeof source);
    tap_ok(TAP_EQ(carry_xstate_convert(&layout, source, sizeof source, &target),
                  CARRY_XSTATE_REFUSED_NO_COMPACT) &&
               TAP_EQ(carry_xstate_convert(&layout, NULL, 0, &target), CARRY_XSTATE_REFUSED_SHORT),
           "image.h: a target's form");
}

typedef size_t sums_fn(const struct carry_frame *frame, const struct carry_packet_options *options,
                       struct carry_packet_sum *sums, size_t capacity);

static void test_packet(void) {
    static sums_fn *const functions[] = {carry_packet_check, carry_packet_walk, carry_packet_fix,
                                         carry_packet_fill};
    unsigned char bytes[64] = {0};
    const struct carry_frame none = {.linktype = 1};
    const struct carry_frame strange = {bytes, sizeof bytes, sizeof bytes, UINT32_MAX, 0};
    const struct carry_packet_options beyond = {.fix = 1u << 31};
    struct carry_packet_sum sum;
    struct carry_packet_layer layer;
    struct carry_packet_fragment fragment;
    bool ok = true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        ok = ok && TAP_TRUE(!functions[i](&none, NULL, NULL, 0)) &&
             TAP_TRUE(!functions[i](&none, &beyond, &sum, 1)) &&
             TAP_TRUE(!functions[i](&strange, NULL, &sum, 1));
    tap_ok(ok, "packet.h: no bytes, no options, no sums, a link type");
    tap_ok(TAP_EQ(carry_packet_check_fragment(&none, NULL, NULL, 0, &fragment), 0) &&
               TAP_TRUE(!fragment.version),
           "packet.h: no fragment");
    tap_ok(TAP_EQ(carry_packet_layers(&none, NULL, NULL, 0), 0) &&
               TAP_EQ(carry_packet_layers(&strange, NULL, &layer, 1), 0) &&
               TAP_TRUE(!carry_packet_knows_link(UINT32_MAX)),
           "packet.h: no layers");
}

static void test_patch(void) {
    tap_ok(TAP_EQ(carry_patch_register(NULL, NULL), CARRY_OK), "patch.h: no sites");
    carry_patch_unregister(NULL);
    struct carry_patch patch;
    carry_patch_begin(&patch);
    tap_ok(TAP_EQ(carry_patch_commit(&patch), CARRY_OK), "patch.h: no changes");
    carry_patch_abort(&patch);
    tap_ok(TAP_EQ(carry_patch_commit(&patch), CARRY_ERROR_INVALID),
           "patch.h: a closed transaction");
    const int error = carry_patch_select(NULL, NULL);
    tap_ok(TAP_EQ(carry_patch_select("no such", NULL), CARRY_ERROR_UNKNOWN) &&
               TAP_EQ(carry_patch_select(NULL, "no such"), CARRY_ERROR_UNKNOWN) &&
               TAP_EQ(error, CARRY_OK),
           "patch.h: names");
}

static void test_section(void) {
    struct carry_section section;
    tap_ok(TAP_EQ(carry_section_begin(&section, NULL, 0), CARRY_ERROR_UNSUPPORTED) &&
               TAP_EQ(carry_section_switch(NULL), CARRY_ERROR_UNSUPPORTED),
           "section.h: no area, no thread");
}

static void test_sum(void) {
    struct carry_sum_kernel kernel;
    struct carry_kernel_code code;
    uint32_t sum = 7;
    tap_ok(TAP_EQ(carry_sum(NULL, 0, 7), 7) && TAP_EQ(carry_sum_call(NULL, 0, 7), 7) &&
               TAP_EQ(carry_sum_inline(NULL, 0, 7), 7) &&
               TAP_EQ(carry_sum_copy(NULL, NULL, 0, 7), 7),
           "sum.h: no bytes");
    carry_sum_burst(NULL, 0, NULL);
    tap_ok(TAP_EQ(carry_sum_iov(NULL, 0, 3, 100, 7), 7) &&
               TAP_EQ(carry_sum_copy_iov(NULL, 0, NULL, 0, &sum), 0) && TAP_EQ(sum, 7),
           "sum.h: no slices");
    const uint16_t check = carry_sum_update(0x1234, NULL, NULL, 0);
    tap_ok(TAP_EQ(check, 0x1234), "sum.h: nothing changed");
    tap_ok(TAP_TRUE(!carry_sum_kernel(SIZE_MAX, &kernel)) &&
               TAP_TRUE(!carry_sum_kernel_need(SIZE_MAX, 0)) &&
               TAP_TRUE(!carry_sum_kernel_need(0, SIZE_MAX)) &&
               TAP_TRUE(!carry_sum_kernel_code(SIZE_MAX, &code)),
           "sum.h: indexes");
    tap_ok(TAP_EQ(carry_sum_select(NULL), CARRY_OK), "sum.h: no name");
}

static void test_xstate(void) {
    struct carry_xstate_layout layout;
    const enum carry_xstate_form form = (enum carry_xstate_form)NO_ENUMERATOR;
    carry_xstate_layout(&layout);
    tap_ok(TAP_EQ(carry_xstate_size(&layout, UINT64_MAX, form), 0) &&
               TAP_EQ(carry_xstate_offset(&layout, UINT64_MAX, form, CARRY_XSTATE_SSE), 0) &&
               TAP_EQ(carry_xstate_offset(&layout, UINT64_MAX, form, CARRY_XSTATE_AVX), 0),
           "xstate.h: a form");
    tap_ok(TAP_EQ(carry_xstate_offset(&layout, UINT64_MAX, CARRY_XSTATE_STANDARD, UINT_MAX), 0),
           "xstate.h: a component");
    tap_ok(TAP_EQ(carry_xstate_area_size(~carry_xstate_enabled()), carry_xstate_area_size(0)),
           "xstate.h: components that there are not");
    carry_xstate_clean((enum carry_xstate_level)NO_ENUMERATOR);
    tap_ok(!(carry_xstate_in_use() & ~carry_xstate_enabled()), "xstate.h: a level");
}

int main(void) {
    test_context();
    test_copy();
    test_cpu();
    test_crc();
    test_fault();
    test_hook();
    test_image();
    test_packet();
    test_patch();
    test_section();
    test_sum();
    test_xstate();
    return tap_done();
}
