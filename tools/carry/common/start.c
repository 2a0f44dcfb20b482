/* SPDX-License-Identifier: MIT */
#include "common/start.h"

#include <locale.h>

const bool start_is_static = false;

void start_prepare(void) {
    setlocale(LC_CTYPE, "");
}
