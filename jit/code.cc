/* SPDX-License-Identifier: MIT */
/*
 * Text is mapped twice, writable here and executable there, since some systems let no page be both
 * and no page change from one to the other.
 */
#include "code.h"

#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include <asmjit/core/jitallocator.h>
#include <asmjit/core/virtmem.h>

#include "listing.h"

namespace carry::jit {
namespace {

struct Code : ::carry_jit {
    const std::string *key; /* where the cache keeps it */
    size_t users;
};

int error_of(asmjit::Error error) {
    switch (error) {
    case asmjit::kErrorOk:
        return CARRY_OK;
    case asmjit::kErrorOutOfMemory:
        return CARRY_ERROR_MEMORY;
    case asmjit::kErrorInvalidArch:
    case asmjit::kErrorInvalidInstruction:
    case asmjit::kErrorFeatureNotEnabled:
        return CARRY_ERROR_UNSUPPORTED;
    default:
        return CARRY_ERROR_PERMISSION;
    }
}

asmjit::JitAllocator::CreateParams dual_mapping() {
    asmjit::JitAllocator::CreateParams params{};
    params.options = asmjit::JitAllocatorOptions::kUseDualMapping;
    return params;
}

class Cache {
  public:
    int obtain(const std::string &key, const std::string &name, Emit *emit, const void *spec,
               const struct carry_jit **jit);
    void release(Code *code);

  private:
    asmjit::Error make(Code &code, Emit *emit, const void *spec);
    asmjit::Error place(Code &code, asmjit::CodeHolder &holder);

    std::mutex mutex;
    asmjit::JitAllocator::CreateParams params = dual_mapping();
    asmjit::JitAllocator allocator{&params};
    std::unordered_map<std::string, Code> codes;
};

asmjit::Error Cache::place(Code &code, asmjit::CodeHolder &holder) {
    void *executable, *writable;
    ASMJIT_PROPAGATE(holder.flatten());
    ASMJIT_PROPAGATE(holder.resolveUnresolvedLinks());
    size_t size = holder.codeSize();
    ASMJIT_PROPAGATE(allocator.alloc(&executable, &writable, size));
    asmjit::Error error = holder.relocateToBase(reinterpret_cast<uintptr_t>(executable));
    if (error == asmjit::kErrorOk)
        error = holder.copyFlattenedData(writable, size);
    if (error != asmjit::kErrorOk) {
        allocator.release(executable);
        return error;
    }
    asmjit::VirtMem::flushInstructionCache(executable, size);
    code.sum = reinterpret_cast<carry_sum_fn *>(executable);
    code.text_size = size;
    return asmjit::kErrorOk;
}

asmjit::Error Cache::make(Code &code, Emit *emit, const void *spec) {
    asmjit::CodeHolder holder;
    ASMJIT_PROPAGATE(holder.init(asmjit::Environment::host()));
    ASMJIT_PROPAGATE(emit(holder, spec));
    return place(code, holder);
}

int Cache::obtain(const std::string &key, const std::string &name, Emit *emit, const void *spec,
                  const struct carry_jit **jit) {
    std::lock_guard<std::mutex> guard(mutex);
    auto [at, fresh] = codes.try_emplace(key);
    Code &code = at->second;
    if (fresh) {
        int error = error_of(make(code, emit, spec));
        if (error) {
            codes.erase(at);
            return error;
        }
        code.key = &at->first;
        list(name, code);
    }
    code.users++;
    *jit = &code;
    return CARRY_OK;
}

void Cache::release(Code *code) {
    std::lock_guard<std::mutex> guard(mutex);
    if (--code->users)
        return;
    unlist(*code);
    allocator.release(reinterpret_cast<void *>(code->sum));
    codes.erase(codes.find(*code->key));
}

/* Never destroyed: threads may still run what was made when the process ends. */
Cache &cache() {
    static Cache &the = *new Cache;
    return the;
}

} // namespace

int obtain(const std::string &key, const std::string &name, Emit *emit, const void *spec,
           const struct carry_jit **jit) noexcept {
    try {
        return cache().obtain(key, name, emit, spec, jit);
    } catch (const std::bad_alloc &) {
        return CARRY_ERROR_MEMORY;
    }
}

} // namespace carry::jit

void carry_jit_release(const struct carry_jit *jit) {
    using namespace carry::jit;
    if (jit)
        cache().release(const_cast<Code *>(static_cast<const Code *>(jit)));
}
