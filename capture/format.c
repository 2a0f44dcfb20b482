/* SPDX-License-Identifier: MIT */
/* Ends the reading of a capture: at its end, where it is damaged, or where it cannot be read. */
#include "format.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static int next_after_stop(struct carry_capture *capture, struct carry_capture_packet *packet) {
    (void)packet;
    capture->error = capture->final;
    return capture->result;
}

static int stop_capture(struct carry_capture *capture, int result) {
    capture->result = result;
    capture->final = capture->error;
    capture->next = next_after_stop;
    return result;
}

int carry_format_stop(struct carry_capture *capture, int code, const char *format, ...) {
    struct carry_capture_error *error = &capture->error;
    va_list arguments;
    va_start(arguments, format);
    *error = (struct carry_capture_error){.code = code, .offset = capture->record};
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return stop_capture(capture, code);
}

int carry_format_error(struct carry_capture_error *error, int code, int system) {
    if (!error)
        return code;
    *error = (struct carry_capture_error){.code = code, .system = system};
    if (code == CARRY_OK)
        return code;
    snprintf(error->text, sizeof error->text, "%s",
             system ? strerror(system) : carry_error_text(code));
    return code;
}

int carry_format_fail(struct carry_capture *capture, int code, int system) {
    return carry_format_error(&capture->error, code, system);
}

int carry_format_fail_text(struct carry_capture *capture, int code, const char *text) {
    carry_format_fail(capture, code, 0);
    snprintf(capture->error.text, sizeof capture->error.text, "%s", text);
    return code;
}

int carry_format_end(struct carry_capture *capture, int code, int system) {
    carry_format_fail(capture, code, system);
    return stop_capture(capture, code);
}

int carry_format_read_code(int system) {
    return system == ENOMEM ? CARRY_ERROR_MEMORY : CARRY_ERROR_READ;
}

static int fail_to_read(struct carry_capture *capture, int system) {
    const int code = carry_format_read_code(system);
    carry_format_stop(capture, code, "cannot read: %s", strerror(system));
    capture->error.system = system;
    return stop_capture(capture, code);
}

int carry_format_second(struct carry_capture *capture) {
    return carry_format_damage(capture, "a second capture starts here: split the file");
}

/* Checks whether a file that may be mapped ended before the size that it had when it was opened:
   pieces that were read before may be gone. */
static bool has_shrunk(struct carry_capture *capture) {
    const struct input *source = carry_format_source(capture);
    return capture->file.maps && source->ended && !source->stopped &&
           source->end_offset < capture->source.size;
}

int carry_format_cut(struct carry_capture *capture, const char *what, uint64_t size) {
    const struct input *input = &capture->input;
    uint64_t have = input->end_offset - capture->record;
    const char *unpacked_to_here = capture->unpack ? carry_unpack_problem(capture->unpack) : NULL;
    if (has_shrunk(capture))
        return carry_format_stop(capture, CARRY_ERROR_READ, "became shorter while it was read");
    if (unpacked_to_here)
        return carry_format_damage(capture, "%s", unpacked_to_here);
    if (input->error)
        return fail_to_read(capture, input->error);
    if (have == 0)
        return carry_format_end(capture, CARRY_CAPTURE_END, 0);
    /* A stopped capture may end within a record, but not within its file header: without the header
       it is not a capture. */
    if (carry_format_source(capture)->stopped && capture->record &&
        carry_input_offset(input) == capture->record) {
        carry_input_drop(&capture->input);
        return carry_format_end(capture, CARRY_CAPTURE_END, 0);
    }
    return carry_format_damage(capture, "%s cut: %llu of %llu bytes", what,
                               (unsigned long long)have, (unsigned long long)size);
}
