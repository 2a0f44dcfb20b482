/* SPDX-License-Identifier: MIT */
/*
 * Tests `xstate`: images of this machine. Initial images are loaded over registers in use. Images
 * that the system passes to tracers and signal handlers, and writes to core files, must equal the
 * images that carry_xstate_save() saved just before.
 */
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <carry/cpu.h>
#include <carry/image.h>

#include "harness/cpu.h"
#include "harness/effort.h"
#include "harness/fault.h"
#include "harness/images.h"
#include "harness/rng.h"
#include "harness/tap.h"

#define BIT(name)   CARRY_XSTATE_BIT(name)
#define LEGACY      (BIT(X87) | BIT(SSE))
#define NOTE_XSAVE  0x205 /* NT_X86_XSAVE_LAYOUT */
#define CORE_MAX    (4 << 20)
#define FCW_OTHER   0x27f
#define MXCSR_OTHER 0x9fc0
#define KEY_15      0xc0000000 /* fields of PKRU */
#define ALL         UINT64_MAX

/* Results of a child process or a handler, for the test. */
struct shared {
    uint8_t area[IMAGE_BYTES_MAX] __attribute__((aligned(64)));
    uint8_t image[IMAGE_BYTES_MAX];
    struct carry_xstate_layout layout;
    enum carry_xstate_refusal refusal;
};

static struct shared *shared;
static struct carry_xstate_layout this_machine;
static bool tracks_use; /* XGETBV(1) reports the components in use; not in emulators */
static bool emulated;   /* tracing failed, as in emulators */

/* --- Registers --- */

/* Makes the components of `mask` dirty. Inlined: the compiler must not keep values in registers
   that it cannot name here. */
static inline __attribute__((always_inline)) void make_dirty(uint64_t mask) {
    const uint16_t fcw = FCW_OTHER;
    const uint32_t mxcsr = MXCSR_OTHER;
    if (mask & BIT(X87))
        __asm__ volatile("fldcw %0\n\tfld1" : : "m"(fcw));
    if (mask & BIT(SSE))
        __asm__ volatile("ldmxcsr %0\n\tpcmpeqd %%xmm5, %%xmm5" : : "m"(mxcsr) : "xmm5");
    if (mask & BIT(AVX))
        __asm__ volatile("vcmptrueps %%ymm6, %%ymm6, %%ymm6" : : : "xmm6");
    if (mask & BIT(OPMASK))
        __asm__ volatile("kxnorw %k3, %k3, %k3");
    if (mask & BIT(ZMM_HI256))
        __asm__ volatile("vpternlogd $0xff, %%zmm7, %%zmm7, %%zmm7" : : : "xmm7");
    if (mask & BIT(HI16_ZMM))
        __asm__ volatile("vpternlogd $0xff, %zmm17, %zmm17, %zmm17");
    if (mask & BIT(PKRU))
        __asm__ volatile(".byte 0x0f, 0x01, 0xee\n\t" /* rdpkru */
                         "xorl %[key], %%eax\n\t"
                         ".byte 0x0f, 0x01, 0xef" /* wrpkru */
                         :
                         : [key] "i"(KEY_15), "c"(0)
                         : "eax", "edx");
}

#define OSPKE_BIT 16 /* bit 4 of CPUID.(EAX=07H,ECX=0):ECX */

/*
 * Returns the components that make_dirty() supports. Emulators have PKRU in XCR0, but no
 * instructions for it.
 */
static uint64_t can_dirty(void) {
    unsigned a, b, c = 0, d;
    uint64_t pkru = __get_cpuid_count(7, 0, &a, &b, &c, &d) && c & OSPKE_BIT ? BIT(PKRU) : 0;
    return carry_xstate_enabled() &
           (LEGACY | BIT(AVX) | BIT(OPMASK) | BIT(ZMM_HI256) | BIT(HI16_ZMM) | pkru);
}

static uint32_t read_mxcsr(void) {
    uint32_t mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    return mxcsr;
}

static uint16_t read_fcw(void) {
    uint16_t fcw;
    __asm__ volatile("fnstcw %0" : "=m"(fcw));
    return fcw;
}

/* Sends a signal without the C library, because that uses vector registers. */
static inline __attribute__((always_inline)) void signal_self(long pid, long signal) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(SYS_kill), "D"(pid), "S"(signal)
                     : "rcx", "r11", "memory");
    (void)result;
}

/* Fills `masks` with nothing, each component alone, and all components. Returns the number of
   masks. */
static size_t list_combinations(uint64_t *masks) {
    const uint64_t all = can_dirty();
    size_t count = 0;
    masks[count++] = 0;
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        if (all >> i & 1)
            masks[count++] = UINT64_C(1) << i;
    masks[count++] = all;
    return count;
}

static const char *name_of(uint64_t mask) {
    if (!mask)
        return "nothing";
    return mask & (mask - 1) ? "everything" : carry_xstate_name((unsigned)__builtin_ctzll(mask));
}

/* --- Initial images --- */

/* Returns whether the components other than SSE are initial. SSE is ignored, because the compiler
   may have used xmm registers. */
static bool is_initial(const uint8_t *area, uint64_t mask) {
    bool ok = true;
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        if (i != CARRY_XSTATE_SSE && mask >> i & 1)
            ok &= carry_xstate_image_is_initial(&this_machine, area, i);
    return ok;
}

static void test_initial_over(uint64_t others, enum carry_xstate_form form, const char *name) {
    const uint64_t mask = carry_xstate_default();
    int error = carry_xstate_initial(&this_machine, mask, form, shared->area, IMAGE_BYTES_MAX);
    make_dirty(others);
    carry_xstate_load(shared->area, mask);
    uint64_t in_use = carry_xstate_in_use() & mask;
    uint32_t mxcsr = read_mxcsr();
    uint16_t fcw = read_fcw();
    uint64_t saved = carry_xstate_save(shared->image, mask);
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    tap_ok(TAP_EQ(error, CARRY_OK) && TAP_EQ(fcw, 0x37f) && TAP_EQ(mxcsr, 0x1f80) &&
               TAP_TRUE(is_initial(shared->image, mask)) &&
               TAP_TRUE(!tracks_use || !((in_use | saved) & ~LEGACY)),
           "%s initial image over %s: in use 0x%llx, saved 0x%llx, FCW 0x%x, MXCSR 0x%x", name,
           name_of(others), (unsigned long long)in_use, (unsigned long long)saved, fcw, mxcsr);
}

static void test_initial(enum carry_xstate_form form, const char *name) {
    uint64_t masks[CARRY_XSTATE_COMPONENTS + 2];
    const size_t count = list_combinations(masks);
    for (size_t i = 0; i < count; i++)
        test_initial_over(masks[i] & carry_xstate_default(), form, name);
}

static void test_initial_forms(void) {
    if (fault_under_asan()) {
        tap_skip("initial images", "the sanitizer uses vector registers");
        return;
    }
    test_initial(CARRY_XSTATE_STANDARD, "standard");
    if (carry_cpu_has("xsavec"))
        test_initial(CARRY_XSTATE_COMPACT, "compact");
    else
        tap_skip("compact initial images", "this CPU has no XSAVEC");
}

/* --- Images that fault --- */

static void load_area(void *area) {
    carry_xstate_load(area, carry_xstate_default());
}

/* Returns whether loading the image faults. Restores the registers in both cases. */
static bool load_faults(void) {
    static uint8_t before[IMAGE_BYTES_MAX] __attribute__((aligned(64)));
    struct fault fault;
    carry_xstate_save(before, carry_xstate_default());
    bool faults = !fault_catch(load_area, shared->area, &fault);
    carry_xstate_load(before, carry_xstate_default());
    return faults;
}

static void spoil_header(uint8_t *image) {
    static const size_t places[] = {IMAGE_MXCSR,         IMAGE_XSTATE_BV, IMAGE_XCOMP_BV,
                                    IMAGE_XCOMP_BV + 4,  IMAGE_RESERVED,  IMAGE_RESERVED + 8,
                                    IMAGE_XSTATE_BV + 4, IMAGE_XCOMP_BV};
    for (size_t times = rng_below(3); times--;)
        image[places[rng_below(8)] + rng_below(4)] ^= (uint8_t)(1 << rng_below(8));
}

/*
 * Returns whether the CPU agrees with image_faults(). No component has bit 63 of XSTATE_BV. If it
 * is set, Zen 3, Zen 5 and Cascade Lake fault, but Zen 1 (family 23, model 1) ignores it.
 */
static bool cpu_agrees(bool faults) {
    uint8_t *top = shared->area + IMAGE_XSTATE_BV + 7;
    const uint8_t present = *top;
    bool agrees = faults == image_faults(&this_machine, shared->area);
    *top &= 0x7f;
    agrees |= faults == image_faults(&this_machine, shared->area);
    *top = present;
    return agrees;
}

/*
 * Damages images at random: those that pass the check can be loaded, and the CPU faults where
 * expected. Only registers that accept any value get random values: bounds and shapes of tiles do
 * not.
 */
static void test_faults(void) {
    const uint64_t xcomp_bv = this_machine.xsavec ? IMAGE_COMPACT | this_machine.user : 0;
    size_t passed = 0, faulted = 0, wrong = 0;
    rng_restart();
    for (size_t i = 0; i < effort_chosen()->rounds; i++) {
        uint64_t in_use = rng_next() & carry_xstate_default() & can_dirty();
        size_t size = image_make(shared->area, &this_machine, rng_below(2) ? xcomp_bv : 0, in_use);
        spoil_header(shared->area);
        bool passes = !carry_xstate_check(&this_machine, shared->area, size);
        bool faults = load_faults();
        passed += passes;
        faulted += faults;
        wrong += (passes && faults) || (!emulated && !cpu_agrees(faults));
    }
    tap_ok(TAP_EQ(wrong, 0) && TAP_TRUE(passed) && TAP_TRUE(faulted),
           "of randomly damaged images, %zu pass and load, %zu fault", passed, faulted);
}

/* --- Comparison with saved images --- */

/*
 * Returns the components to compare. Frames of QEMU lose parts of x87 and of BNDCSR; Linux's frames
 * have no tiles before a process requests them.
 */
static uint64_t compared_components(void) {
    const uint64_t hidden = BIT(TILEDATA) & ~shared->layout.user;
    return carry_xstate_enabled() & ~hidden & (emulated ? BIT(SSE) | BIT(AVX) : ALL);
}

/*
 * Checks that dirty components are in use. More components may be in use, but must be initial:
 * other software puts components in use, and systems report x87 and SSE as in use in all frames.
 */
static bool same_as_saved(uint64_t dirtied) {
    const uint64_t saved = carry_xstate_image_in_use(&this_machine, shared->area);
    const uint64_t handed = carry_xstate_image_in_use(&shared->layout, shared->image);
    return (dirtied & ~saved) == 0 && (dirtied & compared_components() & ~handed) == 0 &&
           image_same_state(&this_machine, shared->area, &shared->layout, shared->image,
                            compared_components());
}

/* Returns whether the area can be converted to the image that the system provided. */
static bool area_converts(void) {
    static uint8_t standard[IMAGE_BYTES_MAX];
    const struct carry_xstate_target target = {
        .layout = &shared->layout, .mask = ALL, .image = standard, .size = sizeof standard};
    return !carry_xstate_convert(&this_machine, shared->area, IMAGE_BYTES_MAX, &target) &&
           image_same_state(&shared->layout, standard, &shared->layout, shared->image,
                            compared_components());
}

static void judge_image(const char *what, uint64_t mask) {
    tap_ok(TAP_EQ(shared->refusal, 0) && TAP_TRUE(same_as_saved(mask)) && TAP_TRUE(area_converts()),
           "%s with %s in use: %s", what, name_of(mask),
           carry_xstate_refusal_description(shared->refusal));
}

/* --- Tracers --- */

static void stop_dirty(uint64_t mask) {
    const long pid = getpid();
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        _exit(1);
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    make_dirty(mask);
    carry_xstate_save(shared->area, ALL);
    signal_self(pid, SIGSTOP);
    _exit(0);
}

static bool trace_child(uint64_t mask) {
    fflush(stdout);
    int status;
    pid_t child = fork();
    if (child == 0)
        stop_dirty(mask);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return false;
    struct iovec bytes = {shared->image, IMAGE_BYTES_MAX};
    bool done = !ptrace(PTRACE_GETREGSET, child, (void *)NT_X86_XSTATE, &bytes);
    if (done)
        shared->refusal = carry_xstate_from_regset(shared->image, bytes.iov_len, &shared->layout);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return done;
}

static void test_traced(void) {
    uint64_t masks[CARRY_XSTATE_COMPONENTS + 2];
    const size_t count = list_combinations(masks);
    for (size_t i = 0; i < count; i++) {
        if (!trace_child(masks[i])) {
            tap_skip("register set of a tracer", "the system provides none");
            emulated = true;
            return;
        }
        judge_image("register set", masks[i]);
    }
}

/* --- Signal frames --- */

static void on_signal(int signal, siginfo_t *info, void *context) {
    const void *frame = ((ucontext_t *)context)->uc_mcontext.fpregs;
    (void)signal;
    (void)info;
    shared->refusal = carry_xstate_from_frame(frame, SIZE_MAX, &shared->layout);
    if (!shared->refusal)
        memcpy(shared->image, frame, shared->layout.user ? shared->layout.standard_size : 512);
}

static void test_frames(void) {
    uint64_t masks[CARRY_XSTATE_COMPONENTS + 2];
    const size_t count = list_combinations(masks);
    const long pid = getpid();
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, old;
    sigaction(SIGUSR1, &action, &old);
    for (size_t i = 0; i < count; i++) {
        shared->refusal = CARRY_XSTATE_REFUSALS;
        carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
        make_dirty(masks[i]);
        carry_xstate_save(shared->area, ALL);
        signal_self(pid, SIGUSR1);
        carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
        if (masks[i] & BIT(PKRU))
            make_dirty(BIT(PKRU)); /* sets PKRU to its previous value */
        judge_image("signal frame", masks[i]);
    }
    sigaction(SIGUSR1, &old, NULL);
}

/* --- Core files --- */

/*
 * Returns the components to make dirty before a core dump. PKRU is omitted: Linux writes it as it
 * was when the thread was last switched out.
 */
static uint64_t dumped_components(void) {
    return can_dirty() & ~BIT(PKRU);
}

static void die_dirty(const char *folder) {
    const struct rlimit most = {CORE_MAX, CORE_MAX};
    const long pid = getpid();
    int filter = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
    if (setrlimit(RLIMIT_CORE, &most) || chdir(folder) || filter < 0 || write(filter, "0", 1) != 1)
        _exit(1);
    signal(SIGQUIT, SIG_DFL);
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    make_dirty(dumped_components());
    carry_xstate_save(shared->area, ALL);
    signal_self(pid, SIGQUIT);
    _exit(0);
}

/* Returns the first note of `type` that the kernel has written, without its header, or NULL. */
static const uint8_t *find_note(const uint8_t *core, size_t size, uint32_t type,
                                size_t *note_size) {
    const Elf64_Ehdr *header = (const void *)core;
    const Elf64_Phdr *segment = (const void *)(core + header->e_phoff);
    if (size < sizeof *header || header->e_phoff > size - sizeof *segment ||
        segment->p_type != PT_NOTE || segment->p_offset > size ||
        segment->p_filesz > size - segment->p_offset)
        return NULL;
    const uint8_t *at = core + segment->p_offset, *end = at + segment->p_filesz;
    while (at + sizeof(Elf64_Nhdr) <= end) {
        const Elf64_Nhdr *note = (const void *)at;
        const uint8_t *name = at + sizeof *note, *contents = name + ((note->n_namesz + 3u) & ~3u);
        if (note->n_type == type && strcmp((const char *)name, "LINUX") == 0) {
            *note_size = note->n_descsz;
            return contents;
        }
        at = contents + ((note->n_descsz + 3u) & ~3u);
    }
    return NULL;
}

/* Judges the image in a core file. Returns why it cannot be judged, or NULL. */
static const char *judge_core(const uint8_t *core, size_t size) {
    size_t image_size, note_size;
    const uint8_t *image = find_note(core, size, NT_X86_XSTATE, &image_size);
    const uint8_t *note = find_note(core, size, NOTE_XSAVE, &note_size);
    if (!image || !note || image_size > IMAGE_BYTES_MAX)
        return "core files of this system have no note of the layout";
    const uint64_t all = dumped_components();
    memcpy(shared->image, image, image_size);
    shared->refusal = carry_xstate_from_regset(image, image_size, &shared->layout);
    judge_image("core file, without the note,", all);
    shared->refusal = carry_xstate_from_core(image, image_size, note, note_size, &shared->layout);
    judge_image("core file", all);
    return NULL;
}

static const char *dump_core(const char *folder) {
    char path[64], pattern[16] = "";
    int file = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, pattern, sizeof pattern - 1);
    if (file >= 0)
        close(file);
    if (length < 5 || strcmp(pattern, "core\n") != 0)
        return "core files are written elsewhere";
    fflush(stdout);
    int status;
    pid_t child = fork();
    if (child == 0)
        die_dirty(folder);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
        return "no process dumps core";
    snprintf(path, sizeof path, "%s/core", folder);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        snprintf(path, sizeof path, "%s/core.%ld", folder, (long)child);
        file = open(path, O_RDONLY | O_CLOEXEC);
    }
    static uint8_t core[CORE_MAX] __attribute__((aligned(8)));
    length = file < 0 ? -1 : read(file, core, sizeof core);
    if (file >= 0)
        close(file);
    unlink(path);
    return length < 0 ? "no core file was written" : judge_core(core, (size_t)length);
}

static void test_core(void) {
    char folder[] = "/tmp/test_xstate_XXXXXX";
    if (emulated) {
        tap_skip("core file", "without tracers, it may be that of an emulator");
        return;
    }
    const char *reason = mkdtemp(folder) ? dump_core(folder) : strerror(errno);
    if (reason)
        tap_skip("core file", "%s", reason);
    rmdir(folder);
}

int main(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return tap_skip_all("no shared memory");
    effort_note(effort_chosen());
    if (fault_under_valgrind())
        return tap_skip_all("valgrind has its own registers");
    carry_xstate_layout(&this_machine);
    tracks_use = carry_cpu_has("xgetbv1") && cpu_tracks_use();
    test_initial_forms();
    test_traced();
    test_frames();
    test_core();
    if (carry_cpu_has("xsave"))
        test_faults();
    else
        tap_skip("images that fault", "FXRSTOR looks at MXCSR only");
    return tap_done();
}
