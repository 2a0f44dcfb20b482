/* SPDX-License-Identifier: MIT */
/*
 * Models how handlers of traps search the list of objects without a lock, while an object is
 * removed from it and freed: src/patch/objects.c.
 *
 * No handler may read an object that is freed, and removing must end. It ends because its lock
 * excludes commits, so that threads meet only the few traps of the last commit.
 *
 * FORKED    the process was forked while a thread of its parent searched the list
 * WITHOUT_x leaves out the part x of the protocol: see omissions.def
 */
#define HANDLERS 2
#define TRAPS    2 /* number of traps that each handler meets */

bool linked = true; /* the object is in the list */
bool freed;
bool removed;
#ifdef FORKED
byte readers = 1;
bool ready;
#else
byte readers;
bool ready = true;
#endif

/* Models carry_object_remove(), with the lock held. */
active proctype Remover() {
#ifdef FORKED
    d_step {
#ifndef WITHOUT_RESET_AT_FORK
        readers = 0; /* carry_patch_forked(), in the child: it has no readers */
#endif
        ready = true
    };
#endif
    linked = false;
#ifndef WITHOUT_WAIT_FOR_READERS
    readers == 0; /* yield_processor() */
#endif
    freed = true; /* release_memory() */
    removed = true
}

/* Models find_in_any(), with all signals blocked: wait_signals_blocked(). */
active [HANDLERS] proctype Handler() {
    byte traps;
    bool found;
    ready;
    do
    :: traps == TRAPS -> break
    :: traps < TRAPS ->
        traps++;
#ifdef WITHOUT_ORDER_OF_READERS
        found = linked;
        readers++;
#else
        readers++;
        found = linked;
#endif
        if
        :: found -> assert(!freed)
#ifdef WITHOUT_SIGNALS_BLOCKED
        :: true -> break /* a handler interrupted this, and jumped out */
#endif
        :: else
        fi;
        readers--;
        found = false
    od
}

ltl ends {
    <>removed
}
