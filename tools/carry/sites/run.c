/* SPDX-License-Identifier: MIT */
/* Lists or checks all sites of all objects of a program. */
#include "common/command.h"
#include "sites/carry_sites.h"
#include "sites/open.h"
#include "sites/sites_check.h"
#include "sites/sites_report.h"

static void list_object(struct sites_report *report, const struct object *object) {
    for (size_t i = 0; i < object->records_count && !command_output_failed(); i++) {
        struct site site;
        site_look(report->program, object, &object->records[i], &site);
        sites_report_site(report, &site);
    }
}

/* The limit of repeated reads, for all objects together. If each site is wrong, these reads take a
 * second in total. */
#define LOOKS_MAX 1000

static void check_object(struct sites_report *report, const struct object *object) {
    sites_check_records(report, object);
    sites_check_text(report, object);
    if (report->gone == object && !program_has_ended(report->program))
        command_error("process %ld: %s: was unloaded meanwhile; its sites are left out",
                      report->program->pid, object->path);
}

static int examine_program(const struct sites_options *options, const struct program *program) {
    struct sites_report report = {
        .program = program, .json = options->json, .looks_left = LOOKS_MAX};
    for (size_t i = 0; i < program->objects_count; i++) {
        if (!options->check) {
            list_object(&report, program->objects[i]);
            continue;
        }
        check_object(&report, program->objects[i]);
    }
    if (program_has_ended(program))
        return command_error("process %ld has ended", program->pid);
    sites_report_summary(&report, options->check);
    return report.findings ? STATUS_BAD : STATUS_CLEAN;
}

int sites_run(const struct sites_options *options) {
    struct program program;
    int status = program_open(&program, options->name);
    if (status == STATUS_CLEAN)
        status = examine_program(options, &program);
    program_close(&program);
    return status;
}
