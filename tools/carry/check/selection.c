/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "check/selection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/command.h"
#include "common/text.h"

#define SECOND_NS   UINT64_C(1000000000)
#define SECONDS_MAX (UINT64_MAX / SECOND_NS - 1)

/* --- Times --- */

/* Parses a fraction of a second, such as ".5", as nanoseconds; 0 if the text does not begin with a
   point. Returns the text after the fraction; NULL if no digit follows the point, or too many do.
   */
static const char *parse_fraction(const char *text, uint64_t *ns) {
    const char *at = text + 1;
    *ns = 0;
    if (*text != '.')
        return text;
    for (uint64_t unit = SECOND_NS / 10; *at >= '0' && *at <= '9'; at++, unit /= 10) {
        if (!unit)
            return NULL;
        *ns += unit * (uint64_t)(*at - '0');
    }
    return at > text + 1 ? at : NULL;
}

/* Parses "Z", "+01:00" or "-0530" as seconds east of Greenwich; false if it is none of these. */
static bool parse_zone(const char *text, long *east) {
    int hours, minutes, size = 0;
    *east = 0;
    if (strcmp(text, "Z") == 0)
        return true;
    if ((*text != '+' && *text != '-') ||
        (sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &size) != 2 &&
         sscanf(text + 1, "%2d%2d%n", &hours, &minutes, &size) != 2) ||
        text[1 + size] || hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
        return false;
    *east = (hours * 60L + minutes) * 60 * (*text == '-' ? -1 : 1);
    return true;
}

/* Converts a date and time to seconds since 1970; negative if they do not exist, or are before
 * 1970, or the zone is invalid. */
static int64_t to_seconds(const struct tm *parts, const char *zone) {
    struct tm known = *parts;
    long east = 0;
    known.tm_isdst = -1;
    if (*zone && !parse_zone(zone, &east))
        return -1;
    const time_t seconds = *zone ? timegm(&known) : mktime(&known);
    const bool exists = known.tm_mday == parts->tm_mday && known.tm_mon == parts->tm_mon &&
                        known.tm_hour == parts->tm_hour && known.tm_min == parts->tm_min &&
                        known.tm_sec == parts->tm_sec;
    return exists ? (int64_t)seconds - east : -1;
}

/* Parses 2026-11-25T20:38:00, with or without a fraction and a zone. */
static bool parse_date(const char *text, int64_t *seconds, uint64_t *ns) {
    struct tm parts = {0};
    char separator;
    int size = 0;
    if (sscanf(text, "%4d-%2d-%2d%c%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
               &separator, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &size) != 7 ||
        (separator != 'T' && separator != ' '))
        return false;
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    const char *zone = parse_fraction(text + size, ns);
    *seconds = zone ? to_seconds(&parts, zone) : -1;
    return *seconds >= 0;
}

/* Parses seconds since 1970, with or without a fraction. */
static bool parse_epoch(const char *text, int64_t *seconds, uint64_t *ns) {
    char *end;
    errno = 0;
    *seconds = strtoll(text, &end, 10);
    const char *rest = parse_fraction(end, ns);
    return *text >= '0' && *text <= '9' && !errno && rest && !*rest;
}

static bool parse_time(const char *text, uint64_t *time) {
    int64_t seconds;
    uint64_t ns;
    if ((!parse_epoch(text, &seconds, &ns) && !parse_date(text, &seconds, &ns)) ||
        (uint64_t)seconds > SECONDS_MAX)
        return false;
    *time = (uint64_t)seconds * SECOND_NS + ns;
    return *time > 0;
}

static int set_time(const char *command, const struct option_row *row, const char *text,
                    uint64_t *time) {
    if (parse_time(text, time))
        return STATUS_CLEAN;
    return command_usage(command,
                         "--%s takes a time such as 2026-11-25T20:38:00.5Z, or seconds since 1970, "
                         "not '%s'",
                         row->name, text);
}

int selection_set_after(const char *command, const struct option_row *row, const char *text) {
    struct selection_options *options = row->target;
    return set_time(command, row, text, &options->after);
}

int selection_set_before(const char *command, const struct option_row *row, const char *text) {
    struct selection_options *options = row->target;
    return set_time(command, row, text, &options->before);
}

/* --- Numbers --- */

/* Parses "7", "7-9", "7-" or "-9" of `size` characters. */
static bool parse_range(const char *text, size_t size, uint64_t *first, uint64_t *last) {
    char low[TEXT_SIZE], *high = NULL;
    snprintf(low, sizeof low, "%.*s", (int)size, text);
    *first = 1;
    *last = UINT64_MAX;
    if (size >= sizeof low || size == 0 || strcmp(low, "-") == 0)
        return false;
    if ((high = strchr(low, '-')))
        *high++ = '\0';
    if (*low && !command_parse(low, 1, UINT64_MAX, first))
        return false;
    if (high && *high && !command_parse(high, *first, UINT64_MAX, last))
        return false;
    if (!high)
        *last = *first;
    return true;
}

int selection_set_frames(const char *command, const struct option_row *row, const char *text) {
    struct selection_options *options = row->target;
    options->ranges_count = 0;
    for (const char *at = text;; at++) {
        const size_t size = strcspn(at, ","), i = options->ranges_count++;
        if (i == SELECTION_RANGES_MAX)
            return command_usage(command, "--%s takes at most %d ranges", row->name,
                                 SELECTION_RANGES_MAX);
        if (!parse_range(at, size, &options->ranges[i].first, &options->ranges[i].last))
            return command_usage(command, "--%s takes ranges such as 10-20,30,40-, not '%.*s'",
                                 row->name, (int)size, at);
        at += size;
        if (!*at)
            return STATUS_CLEAN;
    }
}

/* --- A selection --- */

/* Joins the words with blanks. Returns NULL if there is no memory; the caller frees the result. */
static char *join_words(const char *const *words) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return NULL;
    for (size_t i = 0; words[i]; i++)
        fprintf(stream, "%s%s", i ? " " : "", words[i]);
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

static int open_selection_filter(struct selection *selection, const char *expression) {
    char problem[FILTER_PROBLEM_SIZE];
    selection->filter = filter_create(expression, problem);
    return selection->filter ? STATUS_CLEAN : command_error("filter: %s", problem);
}

int selection_open(struct selection *selection, const char *command,
                   const struct selection_options *options) {
    *selection = (struct selection){.options = options};
    if (options->filter && options->words)
        return command_usage(command, "give the filter once, by --filter or behind --");
    if (options->before && options->after >= options->before)
        return command_usage(command, "no time is from --after on and earlier than --before");
    if (options->filter)
        return open_selection_filter(selection, options->filter);
    if (!options->words)
        return STATUS_CLEAN;
    char *expression = join_words(options->words);
    int status = expression ? open_selection_filter(selection, expression)
                            : command_error("%s", strerror(ENOMEM));
    free(expression);
    return status;
}

void selection_close(struct selection *selection) {
    filter_free(selection->filter);
}

bool selection_is_wanted(const struct selection *selection) {
    const struct selection_options *options = selection->options;
    return selection->filter || options->after || options->before || options->ranges_count;
}

static bool has_number(const struct selection_options *options, uint64_t number) {
    for (size_t i = 0; i < options->ranges_count; i++)
        if (number >= options->ranges[i].first && number <= options->ranges[i].last)
            return true;
    return !options->ranges_count;
}

/* Checks whether a time is not earlier than --after, and earlier than --before. */
static bool has_time(struct selection *selection, uint64_t time) {
    const struct selection_options *options = selection->options;
    if (!options->after && !options->before)
        return true;
    selection->timeless += !time;
    return time && time >= options->after && (!options->before || time < options->before);
}

bool selection_has(struct selection *selection, const struct carry_capture_packet *packet) {
    return has_number(selection->options, packet->number) && has_time(selection, packet->time_ns) &&
           (!selection->filter || filter_matches(selection->filter, packet->linktype, packet->data,
                                                 packet->captured, packet->wire));
}

/* --- Packets that could not be judged --- */

static void report_refused(const char *path, const struct filter_refused *refused) {
    char number[TEXT_SIZE], text[3 * TEXT_SIZE + FILTER_PROBLEM_SIZE + 64], type[TEXT_SIZE];
    char link[2 * TEXT_SIZE];
    snprintf(link, sizeof link, "link type %s", text_link_type(type, refused->linktype));
    snprintf(text, sizeof text, "the filter selects none of %s packet%s of %s: %s",
             text_count(number, refused->packets), text_plural(refused->packets),
             refused->linktype == UINT32_MAX ? "further link types" : link, refused->problem);
    command_file_error(path, text);
}

void selection_report(struct selection *selection, const char *path) {
    struct filter_refused refused;
    char number[TEXT_SIZE], text[2 * TEXT_SIZE + 64];
    while (selection->filter && filter_take_refused(selection->filter, &refused))
        report_refused(path, &refused);
    if (selection->timeless) {
        snprintf(text, sizeof text,
                 "--after and --before leave out %s packet%s without a known time",
                 text_count(number, selection->timeless), text_plural(selection->timeless));
        command_file_error(path, text);
    }
    selection_forget(selection);
}

void selection_forget(struct selection *selection) {
    struct filter_refused refused;
    while (selection->filter && filter_take_refused(selection->filter, &refused))
        continue;
    selection->timeless = 0;
}
