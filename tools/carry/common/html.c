/* SPDX-License-Identifier: MIT */
#include "common/html.h"

#include <string.h>

#include "common/text.h"

static void print_character(FILE *stream, const char *text, struct text_character character) {
    static const struct {
        char code;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (character.code == (unsigned char)entities[i].code) {
            fputs(entities[i].entity, stream);
            return;
        }
    if (character.is_safe)
        fwrite(text, 1, character.size, stream);
    else
        fputc('?', stream);
}

void html_text(FILE *stream, const char *text) {
    const size_t size = strlen(text), kept = HTML_TEXT_MAX / 2;
    const char *end = text + size, *middle = size > HTML_TEXT_MAX ? text + kept : end;
    while (text < end) {
        if (text >= middle && end - text > (ptrdiff_t)kept) {
            fputs("\xe2\x80\xa6", stream);
            text = end - kept;
        }
        const struct text_character character = text_character(text);
        print_character(stream, text, character);
        text += character.size;
    }
}
