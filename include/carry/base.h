/* SPDX-License-Identifier: MIT */
/*
 * Shared by every public header: linkage, and the error codes that functions return.
 */
#ifndef CARRY_BASE_H
#define CARRY_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
/* Functions may be named as the struct that they fill. */
#define CARRY_BEGIN_DECLS                                                                          \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"") extern "C" {
#define CARRY_END_DECLS                                                                            \
    }                                                                                              \
    _Pragma("GCC diagnostic pop")
#else
#define CARRY_BEGIN_DECLS
#define CARRY_END_DECLS
#endif

#define CARRY_API __attribute__((visibility("default")))

CARRY_BEGIN_DECLS

/* Functions that can fail return 0 or a negative one of these. */
enum carry_error {
    CARRY_OK = 0,
    CARRY_ERROR_INVALID = -1,     /* an argument has no meaning */
    CARRY_ERROR_UNKNOWN = -2,     /* a name that no table holds */
    CARRY_ERROR_UNSUPPORTED = -3, /* known, but not on this CPU */
    CARRY_ERROR_BYTES = -4,       /* text holds other instructions than it should */
    CARRY_ERROR_PERMISSION = -5,  /* the system does not let text be written */
    CARRY_ERROR_NO_SYNC = -6,     /* the system cannot synchronise the cores that run threads */
    CARRY_ERROR_MEMORY = -7,      /* no memory */
    CARRY_ERROR_BUSY = -8,        /* in use by somebody else: do without it, or try again */
    CARRY_ERROR_SIZE = -9,        /* a buffer is too small */
    CARRY_ERROR_CONTEXT = -10,    /* never to be called from where it was */
};

CARRY_END_DECLS

#endif
