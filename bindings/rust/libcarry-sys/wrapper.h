/* SPDX-License-Identifier: MIT */
/* Includes the headers that src/bindings.rs declares: see scripts/make_rust.py. */
#include <carry/capture.h>
#include <carry/copy.h>
#include <carry/cpu.h>
#include <carry/crc.h>
#include <carry/fault.h>
#include <carry/packet.h>
#include <carry/patch.h>
#include <carry/sum.h>
