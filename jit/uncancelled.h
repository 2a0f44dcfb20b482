/* SPDX-License-Identifier: MIT */
#ifndef CARRY_JIT_UNCANCELLED_H
#define CARRY_JIT_UNCANCELLED_H

#include <pthread.h>

namespace carry::jit {

/*
 * Disables cancellation of the thread while an object exists. The library opens and writes files;
 * these calls are cancellation points, at which the stack would be unwound through noexcept
 * functions.
 */
class Uncancelled {
  public:
    Uncancelled() {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    }
    ~Uncancelled() {
        pthread_setcancelstate(before, &before);
    }
    Uncancelled(const Uncancelled &) = delete;
    Uncancelled &operator=(const Uncancelled &) = delete;

  private:
    int before;
};

} // namespace carry::jit

#endif
