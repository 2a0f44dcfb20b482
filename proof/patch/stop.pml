/* SPDX-License-Identifier: MIT */
/*
 * Models how a body of several instructions replaces a call, and a call the body, while all other
 * CPUs are stopped: write_plan() of src/patch/commit.c, and stop() and start() of a kernel, as in
 * ports/baremetal/host.c.
 *
 * A site is one call, or two instructions. The other CPU runs a thread, and an interrupt that may
 * arrive between any two of its instructions; a second thread waits for the CPU. Each continues
 * where it was interrupted.
 *
 * A CPU must run only the call, from its start, or both instructions, one after the other. A commit
 * must end; it may end by CARRY_ERROR_BUSY.
 *
 * WITHOUT_x leaves out the part x of the protocol: see omissions.def
 */
#define CALL    0
#define SEVERAL 1

/* The contexts that run the site on the other CPU. */
#define THREAD    0
#define WAITING   1
#define INTERRUPT 2
#define CONTEXTS  3

#define STOP_TRIES 2

byte text[2] = SEVERAL;  /* the bytes of the first instruction, and of the second */
byte seen[2] = 2;        /* what the other CPU may fetch: a mask of CALL and SEVERAL */
bool inside[CONTEXTS];   /* the context continues at the second instruction */
byte runs;               /* the context that runs on the other CPU */
byte interrupted;        /* the context that INTERRUPT interrupted */
bool stands;             /* the other CPU is stopped */

inline put(part, v) {
    text[part] = v;
    seen[part] = seen[part] | (1 << v)
}

/* Models all_outside(): by carry_patch_is_inside(), no context is inside the site. */
#ifdef WITHOUT_LOOK_INSIDE
#define ALL_OUTSIDE true
#elif defined(WITHOUT_LOOK_AT_ALL)
#define ALL_OUTSIDE !inside[runs]
#elif defined(WITHOUT_LOOK_AT_WAITING)
#define ALL_OUTSIDE !inside[runs] && !(runs == INTERRUPT && inside[interrupted])
#else
#define ALL_OUTSIDE !inside[THREAD] && !inside[WAITING] && !inside[INTERRUPT]
#endif

inline stop() {
    do
    :: tries < STOP_TRIES ->
        tries++;
#ifndef WITHOUT_STOP
        stands = true;
#endif
        if
        :: ALL_OUTSIDE -> stopped = true; printf("op [\n"); break
        :: else -> stands = false
        fi
    :: else -> break
    od;
    tries = 0
}

active proctype Writer() {
    byte tries, first, to;
    bool stopped;
end:
    do
    :: stop();
       if
       :: stopped ->
           if
           :: first = 0
           :: first = 1
           fi;
           printf("op (\n");
           printf("op W\n");
           to = 1 - text[0];
           d_step { put(first, to) };
           d_step { put(1 - first, to); first = 0; to = 0 };
#ifndef WITHOUT_SYNC_STOPPED
           d_step {
               seen[0] = 1 << text[0]; /* synchronise() */
               seen[1] = 1 << text[1];
               printf("op s\n")
           };
#endif
           printf("op )\n");
           printf("op ]\n");
           stands = false; /* start() */
           stopped = false
       :: else /* CARRY_ERROR_BUSY */
       fi
    od
}

/* The instruction before the first commit is old, the other one new. */
#define LETTER(v) ((v) == SEVERAL -> 'O' : 'N')

/* Runs one instruction at the site. */
inline step(who) {
    if
    :: seen[0] & 1 -> first = CALL
    :: seen[0] & 2 -> first = SEVERAL
    fi;
    if
    :: seen[1] & 1 -> second = CALL
    :: seen[1] & 2 -> second = SEVERAL
    fi;
    if
    :: !inside[who] && first == CALL && second == CALL /* the call; it returns after the site */
    :: !inside[who] && first == SEVERAL -> inside[who] = true
    :: inside[who] && second == SEVERAL -> inside[who] = false
    :: else ->
        printf("fetch\n%c\n%c\n", (inside[who] -> '.' : LETTER(first)),
               (inside[who] || first == CALL -> LETTER(second) : '.'));
        assert(false)
    fi;
    first = 0;
    second = 0
}

active proctype Cpu() {
    byte first, second;
end:
    do
    :: atomic { !stands -> step(runs) }
    :: atomic { !stands && runs != INTERRUPT -> interrupted = runs; runs = INTERRUPT }
    :: atomic { !stands && runs == INTERRUPT && !inside[INTERRUPT] -> runs = interrupted }
    :: atomic { !stands && runs != INTERRUPT -> runs = 1 - runs } /* the scheduler */
#ifdef WITHOUT_SITES_KEPT_FROM_NMIS
    :: atomic { stands -> step(INTERRUPT) }
#endif
    od
}
