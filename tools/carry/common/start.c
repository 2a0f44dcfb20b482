/* SPDX-License-Identifier: MIT */
#include "common/start.h"

#include <locale.h>

void start_prepare(void) {
    setlocale(LC_CTYPE, "");
}
