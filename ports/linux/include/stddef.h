/* SPDX-License-Identifier: MIT */
#include <linux/stddef.h>
#include <linux/types.h>
