/* SPDX-License-Identifier: MIT */
/* Writes text as HTML. */
#ifndef CARRY_TOOLS_HTML_H
#define CARRY_TOOLS_HTML_H

#include <stdio.h>

/*
 * Writes untrusted text: markup is escaped, and '?' replaces characters that control, reorder or
 * hide text, as in text_print_clean(). If a text is longer than HTML_TEXT_MAX bytes, its middle is
 * omitted.
 */
#define HTML_TEXT_MAX 400
void html_text(FILE *stream, const char *text);

#endif
