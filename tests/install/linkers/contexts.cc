/* SPDX-License-Identifier: MIT */
/*
 * Contexts in programs with sanitizers: exceptions on many stacks, stacks that move to another
 * thread, preemption. The sanitizers must report nothing. Only `contexts race` has a data race
 * between contexts of two threads.
 */
#include <carry/context.h>
#include <carry/xstate.h>

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

void expect(bool ok, const char *what) {
    if (!ok) {
        std::printf("not ok: %s\n", what);
        std::abort();
    }
}

struct Task {
    carry_context context;
    std::vector<char> stack;
    carry_context *host; /* the context that yielding switches to */
    int number;
    long count;
    bool finished;

    Task(carry_context_fn *run, int task_number, carry_context *goes_on)
        : context(), stack(32768), host(goes_on), number(task_number), count(0), finished(false) {
        expect(!carry_context_create(&context, stack.data(), stack.size(), run, this), "create");
    }

    void give_way() {
        carry_context_switch(&context, host, 0);
    }
};

/* --- Many contexts, which throw through functions that were suspended --- */

void fail(Task *task, int depth) {
    std::string name = "task " + std::to_string(task->number);
    task->give_way();
    if (depth == 0)
        throw std::runtime_error(name);
    fail(task, depth - 1);
}

carry_context *throw_often(void *argument, uintptr_t) {
    Task *task = static_cast<Task *>(argument);
    for (int i = 0; i < 5; i++) {
        try {
            fail(task, i);
        } catch (const std::runtime_error &error) {
            expect(error.what() == "task " + std::to_string(task->number), "what was thrown");
            task->count++;
        }
    }
    task->finished = true;
    return task->host;
}

void run_many() {
    carry_context here;
    carry_context_adopt(&here, nullptr, 0);
    std::vector<Task *> tasks;
    for (int i = 0; i < 200; i++)
        tasks.push_back(new Task(throw_often, i, &here));
    for (bool any = true; any;) {
        any = false;
        for (Task *task : tasks) {
            if (!task->finished)
                carry_context_switch(&here, &task->context, 0);
            any = any || !task->finished;
        }
    }
    for (Task *task : tasks) {
        expect(task->count == 5, "each exception is caught");
        delete task;
    }
}

/* --- Stacks that move to another thread --- */

carry_context *count_often(void *argument, uintptr_t) {
    Task *task = static_cast<Task *>(argument);
    for (int i = 0; i < 2000; i++) {
        std::string text(50, 'x');
        task->count += static_cast<long>(text.size());
        task->give_way();
    }
    task->finished = true;
    return task->host;
}

struct Job {
    Task task{count_often, 0, nullptr};
    std::atomic<bool> taken{false};
};

void run_migrating() {
    std::vector<Job> jobs(20);
    std::atomic<int> left{static_cast<int>(jobs.size())};
    auto work = [&jobs, &left](unsigned random) {
        carry_context me;
        carry_context_adopt(&me, nullptr, 0);
        while (left > 0) {
            random = random * 1103515245 + 12345;
            Job &job = jobs[(random >> 16) % jobs.size()];
            if (job.taken.exchange(true))
                continue;
            if (!job.task.finished) {
                job.task.host = &me;
                carry_context_switch(&me, &job.task.context, 0);
                left -= job.task.finished;
            }
            job.taken = false;
        }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; i++)
        threads.emplace_back(work, i + 1);
    for (std::thread &thread : threads)
        thread.join();
    for (const Job &job : jobs)
        expect(job.task.count == 2000 * 50, "each job is done once");
}

/* --- Preemption --- */

#if defined(__SANITIZE_THREAD__)
#define IN_TSAN true
#elif defined(__has_feature)
#define IN_TSAN __has_feature(thread_sanitizer)
#else
#define IN_TSAN false
#endif

#ifdef __x86_64__

constexpr int turns_wanted = 20;
carry_context home;
Task *loops[2];
volatile sig_atomic_t current = -1, turns, preempt_error;

void on_signal(int, siginfo_t *, void *ucontext) {
    if (current < 0)
        return;
    const int next = 1 - current;
    int error = carry_context_preempt(&loops[current]->context, &loops[next]->context, ucontext);
    if (!error) {
        current = next;
        turns = turns + 1;
    } else if (error != CARRY_ERROR_BUSY) {
        preempt_error = error;
    }
}

carry_context *loop(void *argument, uintptr_t) {
    Task *task = static_cast<Task *>(argument);
    while (turns < turns_wanted && !preempt_error) {
        *static_cast<volatile long *>(&task->count) = task->count + 1;
        if (IN_TSAN)
            usleep(100); /* a system call at which the sanitizer delivers signals */
    }
    current = -1;
    return &home;
}

void run_preempted() {
    static char handler_stack[1 << 16];
    const stack_t stack = {handler_stack, 0, sizeof handler_stack};
    const struct itimerval on = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    const size_t size = carry_context_area_size(carry_xstate_default());
    carry_context_adopt(&home, nullptr, 0);
    for (int i = 0; i < 2; i++) {
        loops[i] = new Task(loop, i, &home);
        expect(!carry_context_keep(&loops[i]->context, aligned_alloc(CARRY_XSTATE_ALIGN, size),
                                   size, 0),
               "keep");
    }
    sigaltstack(&stack, nullptr);
    sigaction(SIGALRM, &action, nullptr);
    current = 0;
    setitimer(ITIMER_REAL, &on, nullptr);
    carry_context_switch(&home, &loops[0]->context, 0);
    setitimer(ITIMER_REAL, &off, nullptr);
    expect(IN_TSAN ? preempt_error == CARRY_ERROR_UNSUPPORTED : !preempt_error, "preemption");
}

#else

void run_preempted() {
}

#endif

/* --- Errors that are still found --- */

long shared;
std::atomic<int> racing{0};

/* Changes a variable that another context changes too. Both contexts are started before either
   continues, in an order that the sanitizer cannot see. */
carry_context *race(void *argument, uintptr_t) {
    Task *task = static_cast<Task *>(argument);
    racing.fetch_add(1, std::memory_order_relaxed);
    while (racing.load(std::memory_order_relaxed) < 2)
        std::this_thread::yield();
    for (int i = 0; i < 1000; i++) {
        shared++;
        task->give_way();
    }
    task->finished = true;
    return task->host;
}

void run_race() {
    auto work = [] {
        carry_context me;
        carry_context_adopt(&me, nullptr, 0);
        Task task(race, 0, &me);
        while (!task.finished)
            carry_context_switch(&me, &task.context, 0);
    };
    std::thread one(work), other(work);
    one.join();
    other.join();
    std::printf("%ld\n", shared);
}

} // namespace

int main(int argc, char **argv) {
    if (argc > 1 && !std::strcmp(argv[1], "race")) {
        run_race();
        return 0;
    }
    run_many();
    run_migrating();
    run_preempted();
    std::puts("ok");
    return 0;
}
