/* SPDX-License-Identifier: MIT */
/*
 * Models fork() while another thread commits; then both processes run the site, and both may
 * commit: src/hosted/hosted_patch.c and src/hosted/hosted_text.c.
 *
 * Text is in a page. The page belongs to one process; or, if it was moved to a memfd (ALIAS),
 * parent and child both map it until one of them writes.
 *
 * Each process must run only instructions that it committed itself, or that it had before the fork,
 * and must not wait for ever.
 *
 * ALIAS     text was moved; without it, /proc/self/mem is written
 * WITHOUT_x leaves out the part x of the protocol: see omissions.def
 */
#define PARENT 0
#define CHILD  1

#define OLD   0
#define NEW   1
#define GUARD 2

byte page[3];               /* the content of each page */
byte text[2];               /* the page that a process runs */
byte memory[2];             /* without ALIAS: the process whose memory is written */
bool shared[2];             /* both processes map the page of the alias */
bool transactions[2];       /* locks */
bool objects[2];
bool exists[2];
byte allowed[2] = 1;        /* the instructions that a process may run: a mask of OLD and NEW */
bool waits[2];

/* Models alias_open() and part_alias(): gives the process its own pages with the same content. */
inline part(p) {
#if defined(ALIAS) && !defined(WITHOUT_PARTING)
    atomic {
        if
        :: shared[p] ->
            page[1 + p] = page[text[p]];
            text[p] = 1 + p;
            shared[p] = false
        :: else
        fi
    }
#else
    skip
#endif
}

/* The text that memory_write() changes: its file refers to the process that opened it. */
#ifdef ALIAS
#define WRITTEN(p) page[text[p]]
#else
#define WRITTEN(p) page[text[memory[p]]]
#endif

/* Models carry_patch_begin(), ..., carry_patch_commit(). */
inline commit(p, value) {
    atomic { !transactions[p] -> transactions[p] = true };
    atomic { !objects[p] -> objects[p] = true };
    part(p);
    allowed[p] = 3;
    WRITTEN(p) = GUARD;
    atomic {
        WRITTEN(p) = value;
        allowed[p] = 1 << value
    };
    objects[p] = false;
    transactions[p] = false
}

/* Copies the state that fork() copies. */
inline copy_process() {
    d_step {
#ifdef ALIAS
        text[CHILD] = text[PARENT];
        shared[PARENT] = true; /* carry_text_after_fork() */
        shared[CHILD] = true;
#else
        text[CHILD] = 1 + CHILD;
        page[1 + CHILD] = page[text[PARENT]];
#endif
        memory[CHILD] = memory[PARENT];
        transactions[CHILD] = transactions[PARENT];
        objects[CHILD] = objects[PARENT];
        allowed[CHILD] = allowed[PARENT];
        exists[CHILD] = true
    }
}

active proctype Writer() {
    exists[PARENT] = true;
    commit(PARENT, NEW);
    commit(PARENT, OLD);
done:
    skip
}

/* Runs a thread of the parent that forks, and continues as the child. */
active proctype Forker() {
    /* before_fork() */
#ifdef WITHOUT_LOCK_ORDER
    atomic { !objects[PARENT] -> objects[PARENT] = true };
    atomic { !transactions[PARENT] -> transactions[PARENT] = true };
#elif !defined(WITHOUT_LOCKS_AT_FORK)
    atomic { !transactions[PARENT] -> transactions[PARENT] = true };
    atomic { !objects[PARENT] -> objects[PARENT] = true };
#endif
    copy_process();
#ifndef WITHOUT_LOCKS_AT_FORK
    objects[PARENT] = false; /* after_fork_in_parent() */
    transactions[PARENT] = false;
#endif
    /* after_fork_in_child(): retake_lock(), release_lock() */
#ifndef WITHOUT_OWN_LOCKS
    objects[CHILD] = false;
    transactions[CHILD] = false;
#endif
#ifndef WITHOUT_CLOSED_MEMORY
    memory[CHILD] = CHILD; /* memory_close(), and the next commit opens its own */
#endif
    if
    :: true -> commit(CHILD, NEW)
    :: true
    fi;
done:
    skip
}

/* Runs the site in each process. */
active [2] proctype Runner() {
    byte p = _pid - 2, got;
    exists[p];
end:
    do
    :: atomic {
           got = page[text[p]];
           if
           :: got == GUARD -> waits[p] = true
           :: got != GUARD && allowed[p] & (1 << got) -> waits[p] = false
           :: else -> assert(false)
           fi;
           got = 0
       }
    od
}

ltl goes_on {
    [](waits[PARENT] -> <>!waits[PARENT]) && [](waits[CHILD] -> <>!waits[CHILD])
    && <>(Writer@done) && <>(Forker@done)
}
