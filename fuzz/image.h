/* SPDX-License-Identifier: MIT */
/*
 * The input of the target that takes an image of extended state: a head, the image, the note.
 *
 *     0  where the image comes from: enum origin
 *     1  its machine, for an area
 *     2  the machine to convert it for; bit 7: to the compact form
 *     3  the number of the note's entries of 16 bytes, at the end of the input
 */
#ifndef CARRY_FUZZ_IMAGE_H
#define CARRY_FUZZ_IMAGE_H

#include <carry/image.h>

#include "harness/images.h"
#include "harness/machines.h"

#define HEAD_BYTES 4
#define NOTE_ENTRY 16

enum { HEAD_ORIGIN = 0, HEAD_FROM = 1, HEAD_TO = 2, HEAD_NOTE = 3 };
enum origin { ORIGIN_AREA, ORIGIN_REGSET, ORIGIN_FRAME, ORIGIN_CORE, ORIGINS };

#define TO_COMPACT 0x80

#endif
