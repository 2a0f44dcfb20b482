/* SPDX-License-Identifier: MIT */
/*
 * Models the sections of a kernel, and the owner of the vector registers of a CPU:
 * src/xstate/section.c.
 *
 * Registers have two halves. These are saved and loaded one after the other, so an interrupt in
 * between finds a half of each state. A thread changes its registers whenever it is in user mode.
 * Each CPU runs a thread. Interrupts interrupt the thread and each other, and NMIs interrupt all of
 * them. Threads move from CPU to CPU.
 *
 * A thread in user mode must find its registers as it set them, a section must find its own until
 * it ends, and no scheduler may be refused.
 *
 * CPUS      number of CPUs (default: 1)
 * DEPTH     depth of nested interrupts (default: 1)
 * EARLY     all threads are in kernel mode: carry_host_section_defer() returns false
 * NMIS      there are NMIs
 * CHANGES   threads exit, and the kernel writes areas
 * WITHOUT_x leaves out the part x of the protocol: see omissions.def
 */
#ifndef CPUS
#define CPUS 1
#endif
#ifndef DEPTH
#define DEPTH 1
#endif

#define THREADS 2
#define LEVELS  (DEPTH + 2) /* the thread, interrupts, an NMI */
#define NMI     (DEPTH + 1)
#define NONE    0

/* The contents of half a register file: unneeded, of section n, or of a thread, which alternates
 * between two values. */
#define NOTHING        0
#define OF_SECTION(n)  (1 + (n))
#define OF_THREAD(t)   (10 + 2 * (t))

/* Models struct carry_section_cpu; threads are counted from 1, sections by their level from 1. */
byte word[CPUS]; /* section */
byte owner[CPUS];
byte kept[CPUS];

/* Models struct carry_section_thread. */
byte last_cpu[THREADS + 1]; /* cpu, counted from 1 */
byte area_low[THREADS + 1];
byte area_high[THREADS + 1];

/* Models struct carry_section, one for each level of each CPU, and its area. */
#define HERE (c * LEVELS + level)
byte outer[CPUS * LEVELS];
byte saved_thread[CPUS * LEVELS];
byte save_low[CPUS * LEVELS];
byte save_high[CPUS * LEVELS];

byte low[CPUS], high[CPUS]; /* the registers */
byte state[THREADS + 1];    /* the contents that the registers of a thread must have */
bool due[THREADS + 1];      /* the state must be loaded before the return to user mode */
byte current[CPUS];         /* the thread that runs */
bool running[THREADS + 1];  /* on some CPU */
byte depth[CPUS];           /* the level that runs */
bool irqs_off[CPUS];
byte preempt[CPUS];

/* --- Registers: carry_vectors_save() and _load(), with interrupts between the halves --- */

inline save(to_low, to_high) {
    to_low = low[c];
    to_high = high[c]
}

inline load(from_low, from_high) {
    low[c] = from_low;
    high[c] = from_high
}

/* --- src/xstate/section.c --- */

/* Models section_refusal(). */
#ifdef WITHOUT_REFUSAL_OF_NMIS
#define REFUSED false
#else
#define REFUSED (level == NMI)
#endif

/* Models claim_cpu(): sets `ok` unless it fails with CARRY_ERROR_BUSY. */
inline claim(has_area) {
    outer[HERE] = word[c];
    atomic {
        if
#ifndef WITHOUT_BUSY
        :: outer[HERE] && !has_area -> outer[HERE] = NONE
#endif
        :: else ->
#if !defined(WITHOUT_WORD) && !defined(WITHOUT_WORD_FIRST)
            word[c] = level + 1;
#endif
            ok = true
        fi
    }
}

inline release() {
    d_step {
        word[c] = outer[HERE];
        outer[HERE] = NONE
    }
}

inline save_owner() {
    if
    :: owner[c] -> save(area_low[owner[c]], area_high[owner[c]])
    :: else
    fi
}

inline disown() {
    if
    :: owner[c] ->
#ifndef WITHOUT_SAVE
        save_owner();
#endif
        kept[c] = owner[c];
        owner[c] = NONE
    :: else
    fi
}

#if defined(WITHOUT_KEPT)
#define KEEPS(t) (last_cpu[t] == c + 1)
#elif defined(WITHOUT_CPU_OF_THREAD)
#define KEEPS(t) (kept[c] == (t))
#else
#define KEEPS(t) (kept[c] == (t) && last_cpu[t] == c + 1)
#endif

inline own(t) {
    if
    :: KEEPS(t)
    :: else ->
#ifdef WITHOUT_WORD_LAST
        word[c] = outer[HERE];
#endif
        load(area_low[t], area_high[t])
    fi;
    last_cpu[t] = c + 1;
#ifndef WITHOUT_KEPT_CLEARED_BY_OWNER
    kept[c] = NONE;
#endif
    owner[c] = t
}

inline own_later(t) {
    if
#ifdef EARLY
    :: own(t)
#else
    :: KEEPS(t) -> own(t)
    :: else -> due[t] = true /* carry_host_section_defer() */
#endif
    fi
}

#ifdef WITHOUT_AREA_OF_ITS_OWN
#define AREA (c * LEVELS)
#else
#define AREA HERE
#endif

#ifdef WITHOUT_PREEMPTION_OFF
#define PREEMPT(n) skip
#else
#define PREEMPT(n) preempt[c] = n
#endif

inline section_begin(has_area) {
    ok = false;
    if
    :: REFUSED
    :: else ->
        PREEMPT(preempt[c] + 1);
        claim(has_area);
        if
        :: !ok -> PREEMPT(preempt[c] - 1)
        :: ok && outer[HERE] && has_area -> save(save_low[AREA], save_high[AREA])
#ifdef WITHOUT_BUSY
        :: ok && outer[HERE] && !has_area
#endif
        :: ok && !outer[HERE] ->
            saved_thread[HERE] = owner[c];
            disown();
#ifndef WITHOUT_KEPT_CLEARED_BY_SECTION
            kept[c] = NONE
#endif
        fi;
#ifdef WITHOUT_WORD_FIRST
        if
        :: ok -> word[c] = level + 1
        :: else
        fi
#endif
    fi
}

inline section_end(has_area) {
    if
    :: outer[HERE] && has_area ->
        load(save_low[AREA], save_high[AREA]);
        d_step {
            save_low[AREA] = NOTHING; /* reduces the number of states */
            save_high[AREA] = NOTHING
        }
    :: !outer[HERE] && saved_thread[HERE] -> own_later(saved_thread[HERE])
    :: else
    fi;
    d_step {
        saved_thread[HERE] = NONE;
        word[c] = outer[HERE]; /* release_cpu() */
        outer[HERE] = NONE
    };
    PREEMPT(preempt[c] - 1)
}

inline section_switch(next) {
    ok = false;
    claim(false);
    assert(ok);
    if
    :: owner[c] != next ->
        disown();
        if
        :: next -> own_later(next)
        :: else
        fi
    :: else
    fi;
    release()
}

inline section_reload(t) {
    ok = false;
    claim(false);
    assert(ok);
    if
    :: owner[c] != t -> disown(); own(t)
    :: else
    fi;
    release()
}

/* Models carry_section_forget(). */
inline forget(t) {
#ifndef WITHOUT_OWNER_FORGOTTEN
    if
    :: owner[c] == t -> owner[c] = NONE
    :: else
    fi;
#endif
#ifndef WITHOUT_CPU_FORGOTTEN
    last_cpu[t] = NONE
#else
    skip
#endif
}

/* --- The kernel --- */

/* Runs a section that uses the registers, and checks that it finds in them the values that it
 * set. */
inline section(has_area) {
    section_begin(has_area);
    if
    :: ok ->
        d_step {
            low[c] = OF_SECTION(level);
            high[c] = OF_SECTION(level)
        };
        assert(low[c] == OF_SECTION(level) && high[c] == OF_SECTION(level));
        section_end(has_area)
    :: else
    fi;
    ok = false
}

/* Returns to user mode; the last check is with interrupts off. */
inline return_to_user() {
#ifndef WITHOUT_INTERRUPTS_OFF
    irqs_off[c] = true;
#endif
    do
    :: current[c] && due[current[c]] -> due[current[c]] = false; section_reload(current[c])
    :: else -> break
    od;
    /* an NMI may arrive here */
    atomic {
        if
        :: current[c] ->
            assert(low[c] == state[current[c]] && high[c] == state[current[c]]);
            state[current[c]] = OF_THREAD(current[c]) + 1 - state[current[c]] % 2;
            low[c] = state[current[c]];
            high[c] = state[current[c]]
        :: else
        fi;
        irqs_off[c] = false
    }
}

/* Switches to the other thread, or to one without vector state. */
inline switch_thread() {
    atomic {
        if
        :: !running[1] -> next = 1; running[1] = true
        :: !running[2] -> next = 2; running[2] = true
        :: next = NONE
        fi
    };
    section_switch(next);
    atomic {
        running[current[c]] = false;
        current[c] = next;
        next = NONE
    }
}

/* Writes the area of a thread as the kernel does; the area must then be loaded. */
inline write_area(t) {
    forget(t);
    d_step {
        state[t] = OF_THREAD(t) + 1 - state[t] % 2;
        area_low[t] = state[t];
        area_high[t] = state[t]
    };
    due[t] = true
}

/* Writes an area: exec and return from a signal of the current thread, ptrace of a stopped one. */
inline change_thread() {
    if
    :: current[c] -> write_area(current[c])
    :: atomic { !running[1] -> next = 1; running[1] = true }; write_area(1)
    :: !current[c]
    fi;
    atomic {
        if
        :: next -> running[next] = false; next = NONE
        :: else
        fi
    }
}

/* Runs level 0 of a CPU: system calls of the thread, and the scheduler. */
inline act() {
    if
    :: section(false)
    :: preempt[c]++; switch_thread(); preempt[c]--
#ifdef CHANGES
    :: change_thread()
#endif
    :: return_to_user()
    fi
}

/* Steps of other CPUs are atomic here: CPUs share threads, and no thread runs on two. */
active [CPUS] proctype Cpu() provided (depth[_pid] == 0) {
    byte c = _pid, level = 0, next;
    bool ok;
end:
    do
    :: c == 0 -> act()
#if CPUS > 1
    :: atomic { c > 0 -> act() }
#endif
    od
}

/* Runs the scheduler at the end of an interrupt: to a thread without vector state, and back. */
inline preempted() {
    section_switch(NONE);
    section_switch(current[c])
}

/* Runs an interrupt of a lower level; it begins a section, with an area or without. */
inline interrupt() {
    if
    :: section(true)
    :: section(false)
    fi;
    if
    :: level < NMI && below == 0 && preempt[c] == 0 -> preempted()
    :: else
    fi;
    d_step {
        depth[c] = below;
        below = 0
    }
}

#define COMES_IN                                                                                   \
    depth[c] < level && (!irqs_off[c] || level == NMI) -> below = depth[c];                        \
    depth[c] = level

/* Interrupts arrive on CPU 0. Code that nothing can interrupt is one step. */
#ifdef NMIS
#define KINDS (DEPTH + 1)
#else
#define KINDS DEPTH
#endif

#if KINDS > 0
active [KINDS] proctype Interrupt() provided (depth[0] <= 1 + _pid - CPUS) {
    byte c = 0, level = 1 + _pid - CPUS, below;
    bool ok;
end:
    do
    :: atomic { level < KINDS && COMES_IN }; interrupt()
    :: atomic { level == KINDS && COMES_IN; interrupt() }
    od
}
#endif
