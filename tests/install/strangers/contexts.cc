// SPDX-License-Identifier: MIT
// Contexts that catch exceptions, are suspended in deep recursion, and move between threads.
#include <carry/context.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../linkers/expect.h"

namespace {

constexpr int WORKERS = 50, ROUNDS = 100, DEPTH = 500, THREADS = 4;

struct worker {
    carry_context context;
    carry_context *host;
    std::vector<char> stack = std::vector<char>(1 << 16);
    std::atomic<int> owner{0};
    int number = 0, caught = 0, rounds = 0;
    bool done = false;
};

void fail_now_and_then(worker &self, int round) {
    std::string text = "worker " + std::to_string(self.number);
    try {
        if (round % 10 == 5)
            throw std::runtime_error(text);
    } catch (const std::runtime_error &error) {
        self.caught += error.what() == text;
    }
}

// Enters frames in one thread and leaves them in another.
__attribute__((noinline)) void descend(worker &self, int depth) {
    if (depth)
        descend(self, depth - 1);
    else
        carry_context_switch(&self.context, self.host, 0);
    __asm__ volatile(""); // makes this a call, not a jump
}

carry_context *work(void *argument, uintptr_t) {
    worker &self = *static_cast<worker *>(argument);
    descend(self, DEPTH);
    for (int i = 0; i < ROUNDS; i++) {
        fail_now_and_then(self, i);
        self.rounds++;
        carry_context_switch(&self.context, self.host, 0);
    }
    self.done = true;
    return self.host;
}

bool run_once(worker &worker, carry_context &host) {
    int nobody = 0;
    if (!worker.owner.compare_exchange_strong(nobody, 1))
        return false;
    bool ends = false;
    if (!worker.done) {
        worker.host = &host;
        carry_context_switch(&host, &worker.context, 0);
        ends = worker.done;
    }
    worker.owner = 0;
    return ends;
}

void begin_all(std::vector<worker> &workers) {
    carry_context host;
    carry_context_adopt(&host, nullptr, 0);
    for (worker &each : workers)
        run_once(each, host);
}

void host_all(std::vector<worker> &workers, std::atomic<int> &done, unsigned seed) {
    carry_context host;
    carry_context_adopt(&host, nullptr, 0);
    while (done < WORKERS) {
        seed = seed * 1103515245 + 12345;
        done += run_once(workers[(seed >> 16) % WORKERS], host);
    }
}

} // namespace

int main() {
    std::vector<worker> workers(WORKERS);
    std::vector<std::thread> threads;
    std::atomic<int> done{0};
    for (int i = 0; i < WORKERS; i++) {
        worker &each = workers[i];
        each.number = i;
        EXPECT(
            carry_context_create(&each.context, each.stack.data(), each.stack.size(), work, &each),
            CARRY_OK);
    }
    begin_all(workers);
    for (unsigned i = 0; i < THREADS; i++)
        threads.emplace_back([&, i] { host_all(workers, done, i * 77 + 1); });
    for (std::thread &thread : threads)
        thread.join();
    for (const worker &each : workers) {
        EXPECT(each.rounds, ROUNDS);
        EXPECT(each.caught, ROUNDS / 10);
    }
    return result();
}
