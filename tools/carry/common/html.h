/* SPDX-License-Identifier: MIT */
/* Text in HTML. */
#ifndef CARRY_TOOLS_HTML_H
#define CARRY_TOOLS_HTML_H

#include <stdio.h>

/*
 * Writes text that others may have chosen: markup is escaped, and a '?' stands for what steers,
 * reorders or hides, as text_print_clean() has it. Of more than HTML_TEXT_MAX bytes, the middle is
 * left out.
 */
#define HTML_TEXT_MAX 400
void html_text(FILE *stream, const char *text);

#endif
