/* SPDX-License-Identifier: MIT */
/*
 * Models threads that trap, and wait in the handler of SIGTRAP until the commit is over:
 * src/hosted/trap.c, and the parts of src/hosted/hosted_patch.c that let the commit end.
 *
 * The text is one byte, guarded or not. After a commit a core may still fetch the guard until it is
 * synchronised. All shared variables are read and written in one order, as SEQ_CST requires.
 *
 * No thread may mistake a guard for a foreign trap: that would end the process. No guard may end
 * the process in another way, and all threads must continue.
 *
 * THREADS   number of threads that run the site (default: 2)
 * BLOCKS    a thread may block SIGTRAP from the start
 * BLOCKS_LATE  ... or from any time on: docs/patch.md says that this ends the process
 * WITHOUT_x leaves out the part x of the protocol: see omissions.def
 */
#ifndef THREADS
#define THREADS 2
#endif

#define COMMITS 2

bool guarded;                /* the byte, read as data: coherent */
bool stale[THREADS];         /* a core may fetch the guard although it was removed */
bool handles;                /* the handler is installed */
byte turns;                  /* odd while guards may exist */
byte sleepers;
bool asleep[THREADS];        /* in the futex */
bool blocks[THREADS];        /* the thread blocks SIGTRAP */
bool waits[THREADS];         /* a thread is between the trap and the return from its handler */
bool in_session;             /* signals are blocked on the committing thread, hooks are off */

/* --- The committing thread --- */

/* Models carry_trap_begin(). */
inline trap_begin() {
    handles = true; /* carry_signal_install() */
#ifndef WITHOUT_TURN_AT_BEGIN
    turns++
#endif
}

/* Models carry_trap_end(); the futex wakes all sleepers. */
inline trap_end() {
#ifdef WITHOUT_ORDER_AT_END
    slept = sleepers > 0;
    turns++;
#else
    turns++;
    slept = sleepers > 0;
#endif
#ifndef WITHOUT_WAKE
    if
    :: slept ->
        d_step {
            for (k : 0 .. THREADS - 1) {
                asleep[k] = false
            }
            k = 0
        }
    :: else
    fi;
#endif
#ifdef WITHOUT_STAYING_HANDLER
    handles = false;
#endif
    slept = false
}

/*
 * Runs the site on the committing thread: in a signal handler, or in a hook of a function that the
 * library calls. A guard there would make it wait for the end of its own commit.
 */
inline may_run_site() {
    if
#ifdef WITHOUT_BLOCKED_SIGNALS
    :: in_session -> !guarded
#endif
#ifdef WITHOUT_HOOKS_OFF
    :: in_session -> !guarded
#endif
#ifdef WITHOUT_CANCELLATION_OFF
    :: in_session -> goto ended
#endif
    :: true
    fi
}

/* Models carry_trap_is_safe(): false if a thread blocks the signal, or if that is unknown. */
inline look_who_blocks() {
    safe = true;
#ifndef WITHOUT_LOOK_AT_MASKS
    for (k : 0 .. THREADS - 1) {
        safe = safe && !blocks[k]
    }
    k = 0
#endif
}

active proctype Writer() {
    byte k, commits;
    bool slept, safe;
#ifdef BLOCKS
    if
    :: blocks[0] = true
    :: true
    fi;
#endif
    do
    :: commits < COMMITS ->
        commits++;
        look_who_blocks();
        if
        :: safe ->
            in_session = true; /* block_signals(), lock_objects(), take_lock() */
            trap_begin();
            guarded = true;
            may_run_site();
            d_step {
                guarded = false;
                for (k : 0 .. THREADS - 1) {
                    stale[k] = true
                }
                k = 0
            };
            trap_end();
            in_session = false
        :: else /* jumps, or no commit */
        fi
    :: else -> break
    od;
ended:
    skip
}

/* --- The others --- */

/* is_trap() */
#ifdef WITHOUT_LOOK_AT_TEXT
#define IS_TRAP true
#else
#define IS_TRAP guarded
#endif

/* Models wait_for_guard(), which calls wait_for_turn_end(). */
inline wait_for_guard() {
    do
    :: before = turns;
       if
       :: IS_TRAP ->
           if
           :: before % 2 == 1 ->
               do /* SPINS times, more or less */
               :: turns != before -> break
               :: true ->
#ifndef WITHOUT_COUNT_OF_SLEEPERS
                   sleepers++;
#endif
#ifdef WITHOUT_COMPARISON_IN_FUTEX
                   asleep[_pid - 1] = true;
#else
                   atomic {
                       if
                       :: turns == before -> asleep[_pid - 1] = true /* FUTEX_WAIT */
                       :: else
                       fi
                   };
#endif
                   !asleep[_pid - 1];
#ifndef WITHOUT_COUNT_OF_SLEEPERS
                   sleepers--;
#endif
                   break
               od
           :: else ->
#ifdef WITHOUT_SECOND_LOOK_AT_TURN
               assert(false)
#else
               assert(turns != before) /* otherwise it is a foreign trap: handle_trap() */
#endif
           fi
       :: else -> break
       fi
    od;
    before = 0
}

active [THREADS] proctype Thread() {
    byte before;
#ifdef BLOCKS_LATE
    if
    :: blocks[_pid - 1] = true
    :: true
    fi;
#endif
end:
    do
    :: !guarded -> skip /* the site is run */
    :: guarded || stale[_pid - 1] ->
        waits[_pid - 1] = true;
        assert(!blocks[_pid - 1] && handles); /* otherwise the trap ends the process */
        wait_for_guard();
        d_step {
            stale[_pid - 1] = false; /* IRET synchronises */
            waits[_pid - 1] = false
        }
    od
}

ltl goes_on {
    [](waits[0] -> <>!waits[0]) && [](waits[THREADS - 1] -> <>!waits[THREADS - 1])
}
