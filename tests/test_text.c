/* SPDX-License-Identifier: MIT */
/* `carry`: measures, as its tables show them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "harness/tap.h"

/* Multiples of half a power of ten, and what is a hair below and above them, with both signs. */
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
        tap_ok(!strcmp(text, rows[i].text), "%g is written %s (%s)", rows[i].value, rows[i].text,
               text);
    }
}

static double unit_of(const char *suffix) {
    return *suffix == 'M' ? 1e6 : *suffix == 'k' ? 1e3 : 1;
}

/* It fits, and what is read back is off by 5 in 100, or by 0.05. */
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
    tap_ok(bad == 0, "five characters tell a value to 5 in 100 (%zu do not)", bad);
}

/* What no table holds must still end within the buffer. */
static void test_ends(void) {
    static const double values[] = {1e300, -1e300, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[TEXT_SIZE];
        tap_ok(strnlen(text_measure(text, values[i]), TEXT_SIZE) < TEXT_SIZE, "%g ends", values[i]);
    }
}

int main(void) {
    test_written();
    test_range();
    test_ends();
    return tap_done();
}
