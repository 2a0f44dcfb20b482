/* SPDX-License-Identifier: MIT */
/*
 * A body of several instructions replaces a call, and the call the body, while all other CPUs stand
 * still: write_plan() of src/patch/commit.c, stop() and start() of a kernel, as
 * ports/baremetal/host.c has them.
 *
 * A site is one call, or two instructions. What runs on another CPU, in this order of depth: a
 * thread, and an interrupt that came in between any two of its instructions; a second thread waits
 * for the CPU. Each goes on where it was interrupted.
 *
 * Nobody may run anything but the call, from its start, or both instructions, one after the other;
 * and a commit ends, if only by CARRY_ERROR_BUSY.
 *
 * WITHOUT_x the protocol without what omissions.def says of x
 */
#define CALL    0
#define SEVERAL 1

/* Those who run the site on the other CPU. */
#define THREAD    0
#define WAITING   1
#define INTERRUPT 2
#define CONTEXTS  3

#define STOP_TRIES 2

byte text[2] = SEVERAL;  /* the bytes of the first instruction, and of the second */
byte seen[2] = 2;        /* what the other CPU may fetch: a mask of CALL and SEVERAL */
bool inside[CONTEXTS];   /* it goes on at the second instruction */
byte runs;               /* on the other CPU */
byte interrupted;        /* by INTERRUPT */
bool stands;             /* the other CPU stands still */

inline put(part, v) {
    text[part] = v;
    seen[part] = seen[part] | (1 << v)
}

/* all_outside(): carry_patch_is_inside() of each context. */
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

/* Of what there was before the first commit, and after it. */
#define LETTER(v) ((v) == SEVERAL -> 'O' : 'N')

/* One instruction at the site. */
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
    :: !inside[who] && first == CALL && second == CALL /* the call, and back behind the site */
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
