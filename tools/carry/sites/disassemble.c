/* SPDX-License-Identifier: MIT */
#include "sites/disassemble.h"

#include <stdio.h>
#include <string.h>

/* Replaces the number before "(%rip)", or the number at the end of the text. */
void disassemble_name_target(char text[INSTRUCTION_TEXT], const char *name) {
    char named[INSTRUCTION_TEXT];
    char *end = strstr(text, "(%rip)");
    char *start = end = end ? end : text + strlen(text);
    while (start > text && !strchr(" *,:", start[-1]))
        start--;
    int length = snprintf(named, sizeof named, "%.*s%s%s", (int)(start - text), text, name, end);
    if (length > 0 && (size_t)length < sizeof named)
        memcpy(text, named, (size_t)length + 1);
}

size_t disassemble_count(disassemble_fn *disassemble, const uint8_t *bytes, size_t size) {
    struct instruction instruction;
    size_t count = 0;
    for (size_t done = 0; done < size; done += instruction.length, count++)
        if (!disassemble(bytes + done, size - done, 0, &instruction))
            return 0;
    return count;
}
