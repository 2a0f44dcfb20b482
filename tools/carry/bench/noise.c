/* SPDX-License-Identifier: MIT */
#include "bench/noise.h"

#include <stdio.h>

#include "common/text.h"

static void write_noise(FILE *out, const struct bench_noise *noise) {
    char widest[TEXT_SIZE];
    if (noise->uncertain)
        fprintf(out, "%zu of %zu times %s uncertain by more than 10 %%, the worst by %s.",
                noise->uncertain, noise->times, noise->uncertain == 1 ? "is" : "are",
                text_percent(widest, noise->widest));
    if (noise->ended_early)
        fprintf(out, "%sThe time was up before all rounds were taken.",
                noise->uncertain ? " " : "");
    if (bench_noise_is_much(noise))
        fprintf(out, " This machine is too noisy: repeat it when nothing else runs.");
    fputc('\n', out);
}

void bench_noise_print(const struct bench_noise *noise) {
    struct text_block block;
    if (!noise->uncertain && !noise->ended_early)
        return;
    putchar('\n');
    text_block_begin(&block, stdout);
    write_noise(block.out, noise);
    text_block_end(&block, 0);
}

json_t *bench_noise_json(const struct bench_noise *noise) {
    return json_pack("{s:I, s:I, s:f, s:b, s:b}", "times", (json_int_t)noise->times, "uncertain",
                     (json_int_t)noise->uncertain, "widest", noise->widest, "ended_early",
                     noise->ended_early, "too_noisy", bench_noise_is_much(noise));
}
