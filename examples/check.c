/* SPDX-License-Identifier: MIT */
/* Checks a capture with all cores, and prints each wrong checksum and a count. Usage: check FILE */
#include <carry/capture.h>

#include <inttypes.h>
#include <stdio.h>

static bool print_finding(void *user, const struct carry_capture_finding *finding) {
    (void)user;
    printf("frame %" PRIu64 ": %s is %s: 0x%04" PRIx32, finding->number,
           carry_packet_protocol_name(finding->sum.protocol),
           carry_packet_verdict_name(finding->sum.verdict), finding->sum.stored);
    if (carry_capture_has_expected(&finding->sum))
        printf(", not 0x%04" PRIx32, finding->sum.expected);
    putchar('\n');
    return true;
}

int main(int argc, char **argv) {
    const struct carry_capture_check_options options = {.finding = print_finding};
    struct carry_capture_error error;
    struct carry_capture_summary *summary;
    struct carry_capture *capture;
    if (carry_capture_open_path(argc == 2 ? argv[1] : "", &capture, &error) != CARRY_OK) {
        fprintf(stderr, "check: %s\n", error.text);
        return 3;
    }
    int code = carry_capture_check(capture, &options, &summary);
    if (code != CARRY_OK)
        fprintf(stderr, "check: %s\n", carry_capture_last_error(capture)->text);
    uint64_t wrong = summary ? carry_capture_total(summary, CARRY_CAPTURE_WRONG_VERDICTS) : 0;
    printf("%" PRIu64 " wrong\n", wrong);
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
    return code != CARRY_OK ? 2 : wrong != 0;
}
