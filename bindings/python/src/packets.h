/* SPDX-License-Identifier: MIT */
#ifndef CARRY_PYTHON_PACKETS_H
#define CARRY_PYTHON_PACKETS_H

#include "module.h"

/* Returns a new PacketSum. If that fails, returns NULL with an exception set. */
PyObject *packet_sum_create(const struct module_state *state, const struct carry_packet_sum *sum);

#endif
