/* SPDX-License-Identifier: MIT */
/* Tests how the tables of `carry` show measures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "harness/tap.h"

/* Multiples of half a power of ten, and values slightly below and above them, with both signs. */
#define STEPS 20
#define FIRST -3
#define LAST  9

static void test_written(void) {
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0.00"},         {1.234, "1.23"},    {9.996, "10.0"},     {12.34, "12.3"},
        {99.96, "100"},      {1234.4, "1234"},   {99999.4, "99999"},  {99999.6, "100k"},
        {9999.4e3, "9999k"}, {12.34e6, "12.3M"}, {999.96e6, "1000M"}, {-0.004, "-0.0"},
        {-1.23, "-1.2"},     {-12.34, "-12"},    {-134.4, "-134"},    {-9999.4, "-9999"},
        {-9999.6, "-10k"},   {-1234e3, "-1.2M"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[TEXT_SIZE];
        text_measure(text, rows[i].value);
        tap_ok(TAP_STREQ(text, rows[i].text), "%g is written %s (%s)", rows[i].value, rows[i].text,
               text);
    }
}

static double unit_of(const char *suffix) {
    return *suffix == 'M' ? 1e6 : *suffix == 'k' ? 1e3 : 1;
}

/* Returns whether the text has at most five characters, and its value differs by at most 5 % or
   0.05, whichever is more. */
static bool is_near(double value) {
    char text[TEXT_SIZE], *suffix;
    text_measure(text, value);
    const double read = strtod(text, &suffix);
    return strlen(text) <= 5 &&
           fabs(read * unit_of(suffix) - value) <= fmax(0.05 * fabs(value), 0.0501);
}

static void test_range(void) {
    size_t bad = 0;
    for (int power = FIRST; power < LAST; power++)
        for (int i = -STEPS; i <= STEPS; i++)
            for (int hair = -1; hair <= 1; hair++) {
                const double value = i * pow(10, power) / 2 * (1 + hair * 0.0003);
                bad += fabs(value) < 0.9995e9 && !is_near(value);
            }
    tap_ok(TAP_EQ(bad, 0), "five characters show a value to 5 in 100 (%zu do not)", bad);
}

static void test_marked(void) {
    static const struct {
        char *(*write)(char *buffer, double value);
        double value;
        const char *text;
    } rows[] = {
        {text_added, 0, "+0.00"},         {text_added, 1.234, "+1.23"},
        {text_added, 99999.4, "+99999"},  {text_added, -0.51, "-0.5"},
        {text_added, 12.34e6, "+12.3M"},  {text_times, 1, "1.00x"},
        {text_times, 99999.4, "99999x"},  {text_times, 1e-9, "0.00x"},
        {text_percent, 0.874, "87%"},     {text_percent, 0, "0%"},
        {text_percent, 99.99, "9999%"},   {text_percent, 99.996, "10000%"},
        {text_percent, 123456, "12.3M%"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[TEXT_SIZE];
        rows[i].write(text, rows[i].value);
        tap_ok(TAP_STREQ(text, rows[i].text), "%g is written %s (%s)", rows[i].value, rows[i].text,
               text);
        tap_ok(TAP_LE(strlen(text), 6), "%s has at most six characters", text);
    }
}

static void test_fitting(void) {
    static const struct {
        const char *name;
        int used;
        size_t count, fitting;
    } rows[] = {
        {"all", 0, 3, 3},
        {"none", 0, 0, 1},
        {"the last column", 20, 4, 3},
        {"exactly", 10, 4, 4},
        {"one column more", 11, 4, 3},
        {"one at least", 79, 4, 1},
    };
    static const int widths[] = {20, 20, 20, 10};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t fitting = text_fitting(widths, rows[i].count, rows[i].used);
        tap_ok(TAP_EQ(fitting, rows[i].fitting), "columns that fit, %s: %zu (%zu)", rows[i].name,
               rows[i].fitting, fitting);
    }
}

/* Tests that the texts of values that no table contains end within the buffer. */
static void test_ends(void) {
    static const double values[] = {1e300, -1e300, INFINITY, -INFINITY, NAN};
    static char *(*const writes[])(char *, double) = {text_measure, text_added, text_times,
                                                      text_percent};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (size_t j = 0; j < sizeof writes / sizeof *writes; j++) {
            char text[TEXT_SIZE];
            tap_ok(TAP_LT(strnlen(writes[j](text, values[i]), TEXT_SIZE), TEXT_SIZE),
                   "%g ends within the buffer (%zu)", values[i], j);
        }
}

int main(void) {
    test_written();
    test_range();
    test_marked();
    test_fitting();
    test_ends();
    return tap_done();
}
