/* SPDX-License-Identifier: MIT */
#include "code.h"

#include <mutex>
#include <unordered_map>

#include <pthread.h>

#include "jit_text.h"
#include "listing.h"
#include "uncancelled.h"

namespace carry::jit {
namespace {

struct Code : ::carry_jit {
    const std::string *key; /* the cache's key */
    size_t users;
    Text text;
};

/* Returns the library's code for an error of asmjit. Any error except a lack of memory means that
   instructions cannot express the spec. */
int error_of_asmjit(asmjit::Error error) {
    switch (error) {
    case asmjit::kErrorOk:
        return CARRY_OK;
    case asmjit::kErrorOutOfMemory:
        return CARRY_ERROR_MEMORY;
    default:
        return CARRY_ERROR_UNSUPPORTED;
    }
}

/* Keeps the first error, so that generators need not check the result of each instruction. */
class FirstError : public asmjit::ErrorHandler {
  public:
    void handleError(asmjit::Error raised, const char *, asmjit::BaseEmitter *) override {
        if (error == asmjit::kErrorOk)
            error = raised;
    }

    asmjit::Error error = asmjit::kErrorOk;
};

/* Calls the generator, and returns the first error. */
asmjit::Error write_code(asmjit::CodeHolder &holder, Emit *emit, const void *spec) {
    FirstError first;
    ASMJIT_PROPAGATE(holder.init(asmjit::Environment::host()));
    holder.setErrorHandler(&first);
    asmjit::Error error = emit(holder, spec);
    holder.setErrorHandler(nullptr);
    ASMJIT_PROPAGATE(first.error);
    ASMJIT_PROPAGATE(error);
    ASMJIT_PROPAGATE(holder.flatten());
    ASMJIT_PROPAGATE(holder.resolveUnresolvedLinks());
    return holder.hasUnresolvedLinks() ? asmjit::kErrorInvalidLabel : asmjit::kErrorOk;
}

/* Copies the instructions to pages where they can be executed. */
int place_code(Code &code, asmjit::CodeHolder &holder) {
    int error = code.text.map(holder.codeSize());
    if (error)
        return error;
    uint8_t *start = code.text.start();
    asmjit::Error raised = holder.relocateToBase(reinterpret_cast<uintptr_t>(start));
    if (raised == asmjit::kErrorOk)
        raised = holder.copyFlattenedData(start, holder.codeSize());
    if (raised != asmjit::kErrorOk)
        return error_of_asmjit(raised);
    code.sum = reinterpret_cast<carry_sum_fn *>(start);
    code.text_size = holder.codeSize();
    return code.text.finish();
}

int make_code(Code &code, Emit *emit, const void *spec) {
    asmjit::CodeHolder holder;
    int error = error_of_asmjit(write_code(holder, emit, spec));
    return error ? error : place_code(code, holder);
}

/* --- The cache --- */

using Codes = std::unordered_map<std::string, Code>;

std::mutex cache_mutex; /* protects the cache and the listing */

void lock_cache() {
    cache_mutex.lock();
}

void unlock_cache() {
    cache_mutex.unlock();
}

/* Handlers of fork() are registered at the start, so that a child always finds the cache consistent
   and unlocked. */
const int fork_error = pthread_atfork(lock_cache, unlock_cache, unlock_cache);

/* Returns the cache. It is never destroyed: threads may still call and release functions when the
   process ends. */
Codes &cache() {
    static Codes &codes = *new Codes;
    return codes;
}

void release_code(Code *code) {
    std::lock_guard<std::mutex> guard(cache_mutex);
    if (--code->users)
        return;
    unlist_function(*code);
    cache().erase(cache().find(*code->key));
}

} // namespace

int obtain_code(const std::string &key, const std::string &name, Emit *emit, const void *spec,
                const struct carry_jit **jit) {
    if (fork_error)
        return CARRY_ERROR_MEMORY;
    Uncancelled uncancelled;
    std::lock_guard<std::mutex> guard(cache_mutex);
    auto at = cache().find(key);
    if (at == cache().end()) {
        Code made{};
        int error = make_code(made, emit, spec);
        if (error)
            return error;
        at = cache().emplace(key, std::move(made)).first;
        at->second.key = &at->first;
        list_function(name, at->second);
    }
    at->second.users++;
    *jit = &at->second;
    return CARRY_OK;
}

} // namespace carry::jit

void carry_jit_release(const struct carry_jit *jit) {
    using namespace carry::jit;
    if (jit)
        release_code(const_cast<Code *>(static_cast<const Code *>(jit)));
}
