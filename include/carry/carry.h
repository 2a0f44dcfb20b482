/* SPDX-License-Identifier: MIT */
/*
 * libcarry: sums, checks and repairs for software that moves packets.
 * This header includes every module except libcarry-jit. Each header may also be included alone.
 */
#ifndef CARRY_CARRY_H
#define CARRY_CARRY_H

#include <carry/base.h>
#include <carry/context.h>
#include <carry/copy.h>
#include <carry/cpu.h>
#include <carry/crc.h>
#include <carry/fault.h>
#include <carry/hook.h>
#include <carry/image.h>
#include <carry/kernel.h>
#include <carry/packet.h>
#include <carry/patch.h>
#include <carry/section.h>
#include <carry/sum.h>
#include <carry/thunk.h>
#include <carry/xstate.h>

#endif
