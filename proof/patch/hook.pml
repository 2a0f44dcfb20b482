/* SPDX-License-Identifier: MIT */
/*
 * Models a point that has one hook after another, while threads are in calls that began under any
 * of them: src/hook/points.c, src/hook/plan.c, and detaching in src/hook/hook.c.
 *
 * A caller reads the callbacks between two reads of the generation. Where C orders two accesses by
 * acquire, release or a fence, the model makes them in that order; without it, in any order.
 *
 * A callback must get the data of its own hook. `leave` must be called only for the hook whose
 * `enter` ran when the call began. After detaching with a wait, no thread may be in a callback. A
 * caller must return through the thunk by which it entered. Every point must become free.
 *
 * FORKED    the process was forked while a thread of its parent detached, and one was in a callback
 * WITHOUT_x leaves out the part x of the protocol: see omissions.def
 */
#define CALLERS 1
#define HOOKS   2 /* one after the other; both wait when they are detached */

#define NONE 0

/* struct carry_hook_point. Hooks are numbered from 1. */
byte generation; /* odd while callbacks must be called */
byte enter;
byte leave;      /* or NONE */
byte user;
bool around;     /* the point had a hook with `leave`: its thunk needs the size of the arguments */
bool through;    /* the stub leads to that thunk */
byte running;    /* number of running callbacks; only for hooks that wait for them */
bool planned;

bool gone[HOOKS + 1]; /* the program has freed the data that the callbacks of the hook use */
bool mapped = true;   /* the stub, the thunk and the point are mapped */
bool all_detached;

/* --- Attaching and detaching, with the lock of `patch` --- */

/* Models carry_point_set(), in the order that carry_point_start() and carry_point_stop()
 * enforce. */
inline carry_point_set(hook) {
    if
#ifdef WITHOUT_AROUND_BEFORE_THROUGH
    :: leave = hook; through = true; around = true
#else
    :: leave = hook; around = true; through = true
#endif
    :: leave = NONE; through = false
    fi;
    enter = hook;
    user = hook
}

inline attach(hook) {
    !planned; /* carry_hook_attach_...() skips a point that is planned, or on */
    planned = true; /* carry_plan_add() */
    if
#ifdef WITHOUT_RELEASE_AT_START
    :: generation++; carry_point_set(hook)
#endif
    :: carry_point_set(hook); generation++ /* carry_point_start() */
    fi;
    planned = false
}

/* Models stop_points() and free_points() of carry_hook_detach(). */
inline detach(hook) {
    planned = true;
#ifdef WITHOUT_FENCE_AT_STOP
    count = running; /* the store of the generation is seen later */
    generation++;
    count == 0;
#else
    generation++; /* carry_point_stop() */
    count = running;
#ifndef WITHOUT_WAIT
    do /* carry_point_wait() */
    :: count == 0 -> break
    :: else -> count = running
    od;
#endif
#endif
#ifdef WITHOUT_STUBS_KEPT
    mapped = false;
#endif
    gone[hook] = true; /* by the program, as carry_hook_detach() has returned */
    planned = false
}

active proctype Owner() {
    byte count, hook = 1;
#ifdef FORKED
    planned = true;
    running = 1;
#ifndef WITHOUT_RESET_AT_FORK
    planned = false; /* carry_hook_forked() */
    running = 0;
#endif
#endif
    do
    :: hook <= HOOKS ->
        attach(hook);
        detach(hook);
        hook++
    :: else -> break
    od;
    all_detached = true
}

/* --- Callers --- */

/* Models take_callback(). */
inline take_callback() {
#ifdef WITHOUT_ACQUIRE_AT_FIRST_LOOK
    got_enter = enter;
    seen = generation;
    got_leave = leave;
    got_user = user;
#else
    seen = generation;
    got_enter = enter;
    got_leave = leave;
    got_user = user;
#endif
#ifdef WITHOUT_SECOND_LOOK
    taken = seen % 2 == 1
#else
    taken = seen % 2 == 1 && generation == seen
#endif
}

/* Models call_back_counted(). */
inline call_back(callback) {
#ifndef WITHOUT_COUNT
    running++;
#endif
    if
#ifdef WITHOUT_LOOK_BEHIND_COUNT
    :: true ->
#else
    :: generation == seen ->
#endif
        assert(callback == got_user);
        assert(!gone[callback])
    :: else
    fi;
#ifndef WITHOUT_COUNT
    running--
#endif
}

active [CALLERS] proctype Caller() {
    byte seen, library, got_enter, got_leave, got_user, entered;
    bool taken, by_around;
end:
    do
    :: by_around = through; /* the stub */
       assert(mapped);
       assert(!by_around || around); /* call_enter() copies nothing except the stack */
       take_callback();
       library = (taken -> seen : 0);
       entered = (taken -> got_enter : NONE);
       if
       :: taken -> call_back(got_enter)
       :: else
       fi;
       assert(mapped); /* the function runs, and returns to the thunk */
       if
       :: by_around ->
           take_callback(); /* call_leave() */
           if
#ifdef WITHOUT_GENERATION_IN_CALL
           :: taken && got_leave ->
#else
           :: taken && got_leave && seen == library ->
#endif
               assert(got_leave == entered);
               call_back(got_leave)
           :: else
           fi
       :: else
       fi;
       assert(mapped);
       d_step {
           seen = 0;
           library = 0;
           got_enter = 0;
           got_leave = 0;
           got_user = 0;
           entered = 0;
           taken = false;
           by_around = false
       }
    od
}

ltl free {
    <>(all_detached && !planned && running == 0)
}
