/* SPDX-License-Identifier: MIT */
/*
 * Models a commit, byte by byte, while cores run the sites: src/patch/commit.c, and one session of
 * src/hosted/hosted_patch.c and src/hosted/exchange.c.
 *
 * Memory holds a value for each byte of each site: the byte of the old instruction, of the new one,
 * or of the guard. A core that fetches gets, for each byte, any value that the byte has had since
 * the core was last synchronised, in any mixture. Thus the bytes of a write arrive in any order,
 * and a core may see an older value after a newer one. Two things are seen as a whole: a pair of
 * bytes that one store writes within eight aligned bytes, and a page that was exchanged. README.md
 * names the sources of these guarantees.
 *
 * A core must run only the old instruction, the new one, or the guard. After a commit has returned,
 * no core may run the instruction that it replaced.
 *
 * MODE      how the session holds threads: ALONE, TRAP, JUMP or REMAP (default: TRAP)
 * CORES     number of cores that run sites (default: 1)
 * SITES     number of sites in one commit (default: 1)
 * BYTES     size of a site (default: 4)
 * WRITERS   number of threads that commit (default: 1)
 * FAILS     writes may fail at any byte; one site may refuse all writes; exchanges may fail
 * PROGRESS  there are only two commits; a core that waits at a guard must continue
 * WITHOUT_x leaves out the part x of the protocol: see omissions.def
 */
#define ALONE 0
#define TRAP  1
#define JUMP  2
#define REMAP 3

#ifndef MODE
#define MODE TRAP
#endif
#ifndef CORES
#define CORES 1
#endif
#ifndef SITES
#define SITES 1
#endif
#ifndef BYTES
#define BYTES 4
#endif
#ifndef WRITERS
#define WRITERS 1
#endif
#ifdef PROGRESS
#define COMMITS 2
#endif

/* The values of a byte. In a mask, bit v stands for value v. */
#define OLD   0
#define NEW   1
#define GUARD 2

#define ALL (SITES * BYTES)

/* Models carry_encode_guard(), and whether cores see a store of its two bytes at once. */
#if MODE == JUMP
#define GUARD_BYTES 2
#if !defined(WITHOUT_PAIR)
#define STORES_PAIRS
#endif
#if !defined(WITHOUT_PAIR) && !defined(WITHOUT_ALIGNMENT)
#define SEES_PAIRS
#endif
#else
#define GUARD_BYTES 1
#endif

byte text[ALL];
byte seen[CORES * ALL] = 1; /* what each core may fetch: a mask for each byte */
bool whole[SITES];      /* no core sees a mixture of the site: its page was exchanged */
bool away[SITES];       /* the page of the site is being exchanged: cores wait there */
byte holds;             /* the instruction that the last commit wrote */
byte allowed = 1;       /* the instructions that may be run: a mask of OLD and NEW */
bool locked;            /* lock_objects() of the host */
bool in_session;        /* no signal handler runs on the writer's thread */
bool waits[CORES];      /* a core waits at a guard */

/* --- Memory --- */

inline put(b, v) {
    text[b] = v;
    for (k : 0 .. CORES - 1) {
        seen[k * ALL + b] = seen[k * ALL + b] | (1 << (v))
    }
    k = 0
}

inline synchronise_core(c) {
    d_step {
        for (k : 0 .. ALL - 1) {
            seen[(c) * ALL + k] = 1 << text[k]
        }
        k = 0
    }
}

/* Models synchronise_cores() of the host: one core after the other, while all run. */
inline synchronise() {
    for (core : 0 .. CORES - 1) {
        synchronise_core(core)
    }
    core = 0;
    printf("op s\n")
}

/* --- Writing --- */

mtype = {GUARDS, TAILS, HEADS, WHOLE};

#define BYTES_FROM(from, to) ((1 << (to)) - (1 << (from)))

/* Models find_part(): the bytes of a site that a step writes. */
#define PART(step)                                                                                 \
    ((step) == WHOLE -> BYTES_FROM(0, BYTES)                                                       \
                      : ((step) == TAILS -> BYTES_FROM(GUARD_BYTES, BYTES)                         \
                                          : BYTES_FROM(0, GUARD_BYTES)))

/* The values that a step writes. */
#define VALUE(step) ((step) == GUARDS -> GUARD : (forward -> 1 - holds : holds))

#define OTHER(b) ((b) / BYTES * BYTES + 1 - (b) % BYTES) /* the other byte of a pair */

/* Chooses any byte of `todo`. */
inline choose_byte() {
    do
    :: (todo >> b) & 1 -> break
    :: todo >> (b + 1) -> b++
    od
}

/* Models write_session_text() of the host: writes the bytes of `todo`, in any order. */
inline write(step) {
    do
    :: todo == 0 -> break
    :: todo != 0 ->
        atomic {
            choose_byte();
            if
#ifdef FAILS
            :: forward || b / BYTES == stuck -> /* fails; writing back continues: write_step() */
#ifdef WITHOUT_WHOLE_WAY_BACK
                todo = 0;
#else
                todo = (forward -> 0 : todo & ~(BYTES_FROM(0, BYTES) << (stuck * BYTES)));
#endif
                ok = false;
                printf("op !\n")
#endif
            :: b / BYTES != stuck ->
                d_step {
                    put(b, VALUE(step));
                    todo = todo & ~(1 << b);
                    if
#ifdef STORES_PAIRS
                    :: step != TAILS -> /* store_text() */
                        put(OTHER(b), VALUE(step));
                        todo = todo & ~(1 << OTHER(b))
#endif
                    :: else
                    fi
                }
            fi;
            b = 0
        }
    od
}

/* Models write_step(): writes all sites at once or, if guards are jumps, one after the other. */
inline write_step(step, letter) {
#if MODE == JUMP
    for (site : 0 .. SITES - 1) {
        if
        :: ok || !forward ->
            todo = PART(step) << (site * BYTES);
            if
            :: todo -> printf("op %c\n", letter)
            :: else
            fi;
            write(step)
        :: else
        fi
    }
    site = 0
#else
    todo = PART(step);
#if SITES == 2
    todo = todo | todo << BYTES;
#endif
    if
    :: todo -> printf("op %c\n", letter)
    :: else
    fi;
    write(step)
#endif
}

/* Models write_guarded() in one direction, if guards are needed. */
inline write_guarded() {
#ifdef WITHOUT_GUARD
    write_step(WHOLE, 'W');
    synchronise()
#else
    write_step(GUARDS, 'G');
#ifndef WITHOUT_SYNC_1
    synchronise();
#endif
    if
    :: ok || !forward ->
#ifndef WITHOUT_ORDER
        write_step(TAILS, 'T');
#endif
#ifndef WITHOUT_SYNC_2
        synchronise();
#endif
        skip
    :: else
    fi;
    if
    :: ok || !forward ->
        write_step(HEADS, 'H');
#ifdef WITHOUT_ORDER
        write_step(TAILS, 'T');
#endif
        skip
    :: else
    fi
#endif
}

/* Models write_pieces(): writes all sites, and writes back if a write fails. */
inline write_pieces() {
    forward = true;
    ok = true;
    write_guarded();
#ifdef FAILS
    if
    :: !ok -> forward = false; write_guarded(); forward = true
    :: else
    fi
#endif
}

/* --- Exchange --- */

/* Models mremap() of one page: no core sees a part of it. */
inline exchange(s, v) {
    away[s] = true;
    d_step {
        whole[s] = true;
        for (i : 0 .. BYTES - 1) {
            put((s) * BYTES + i, v)
        }
        i = 0;
        printf("op x\n")
    }
    away[s] = false
}

/* Models carry_exchange_close(); sets `ok` if all pages are exchanged. */
inline exchange_all() {
    ok = true;
    for (site : 0 .. SITES - 1) {
        if
        :: ok -> exchange(site, 1 - holds)
#ifdef FAILS
        :: ok ->
            ok = false;
            if
            :: site > 0 -> exchange(0, holds) /* put_back() */
            :: site > 0 -> skip               /* this fails, too */
            :: site == 0 -> skip
            fi
#endif
        :: else
        fi
    }
    site = 0
}

/* --- A commit --- */

/* Models write_session(): if pages cannot be exchanged, writes the same bytes under guards. */
inline write_session() {
    in_session = true;
    printf("op (\n");
#if MODE == ALONE
    write_step(WHOLE, 'W');
#ifndef WITHOUT_SYNC_WHOLE
    synchronise();
#endif
#elif MODE == REMAP
    for (site : 0 .. SITES - 1) {
        printf("op W\n") /* in copies that no core sees */
    }
    site = 0;
    exchange_all();
    printf("op )\n");
#ifndef WITHOUT_SYNC_REMAP
    synchronise();
#endif
#ifdef FAILS
    if
    :: !ok ->
       printf("op (\n");
       d_step { whole[0] = false; whole[SITES - 1] = false };
       write_pieces()
    :: else
    fi;
#endif
#else
    write_pieces();
#endif
#if MODE != REMAP
    printf("op )\n");
#endif
    in_session = false
}

#ifdef WITHOUT_LOCK
#define LOCK   skip
#define UNLOCK skip
#else
#define LOCK   !locked -> locked = true
#define UNLOCK locked = false
#endif

active [WRITERS] proctype Writer() {
    byte todo, b, k, i, site, core, commits;
    byte stuck = SITES; /* no byte of this site can be written */
    bool forward = true, ok = true;
#ifdef FAILS
    if
    :: stuck = SITES
    :: stuck = SITES - 1
    fi;
#endif
    do
    :: atomic {
           LOCK;
           allowed = 3
       }
       write_session();
       atomic {
           if
           :: ok -> holds = 1 - holds
           :: else
           fi;
           allowed = 1 << holds;
           UNLOCK
       }
#ifdef COMMITS
       commits++;
       if
       :: commits == COMMITS -> break
       :: else
       fi
#endif
    od
}

/* --- Cores that run sites --- */

inline fetch(c, s) {
    for (i : 0 .. BYTES - 1) {
        if
        :: i > 0 && whole[s] -> got[i] = got[0]
#ifdef SEES_PAIRS
        :: i == 1 -> got[1] = got[0]
#endif
        :: else ->
            if
            :: seen[(c) * ALL + (s) * BYTES + i] & 1 -> got[i] = OLD
            :: seen[(c) * ALL + (s) * BYTES + i] & 2 -> got[i] = NEW
            :: seen[(c) * ALL + (s) * BYTES + i] & 4 -> got[i] = GUARD
            fi
        fi
    }
    i = 0
}

inline print_fetch() {
    printf("fetch ");
    for (i : 0 .. BYTES - 1) {
        printf("%c", (got[i] == OLD -> 'O' : (got[i] == NEW -> 'N' : 'G')))
    }
    printf("\n")
}

inline judge(c) {
    same = true;
    for (i : 1 .. BYTES - 1) {
        same = same && got[i] == got[0]
    }
    i = 0;
    if
    :: got[0] == GUARD && got[GUARD_BYTES - 1] == GUARD && MODE != ALONE -> waits[c] = true
    :: same && got[0] == OLD && allowed & 1 -> waits[c] = false
    :: same && got[0] == NEW && allowed & 2 -> waits[c] = false
    :: else -> print_fetch(); assert(false) /* a mixture */
    fi
}

/* The writer's own thread runs sites in a session only if signals are not blocked. */
#if MODE == ALONE && !defined(WITHOUT_BLOCKED_SIGNALS)
#define MAY_RUN !in_session
#else
#define MAY_RUN true
#endif

active [CORES] proctype Core() {
    byte i, site;
    byte got[BYTES];
    bool same;
end:
    do
    :: atomic {
           MAY_RUN && !away[site] ->
           fetch(_pid - WRITERS, site);
           judge(_pid - WRITERS);
           d_step {
               same = false;
               for (i : 0 .. BYTES - 1) {
                   got[i] = 0
               }
               i = 0
           }
       }
#if SITES > 1
    :: !waits[_pid - WRITERS] -> site = 1 - site
#endif
    od
}

#ifdef PROGRESS
/* Lets every store reach every core eventually; an interrupt synchronises the core, too. */
active proctype Time() {
    byte k;
end:
    do
    :: synchronise_core(0);
#if CORES > 1
       synchronise_core(1)
#endif
    od
}

ltl goes_on {
    [](waits[0] -> <>!waits[0])
#if CORES > 1
    && [](waits[1] -> <>!waits[1])
#endif
}
#endif
