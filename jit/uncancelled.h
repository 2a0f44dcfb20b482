/* SPDX-License-Identifier: MIT */
#ifndef CARRY_JIT_UNCANCELLED_H
#define CARRY_JIT_UNCANCELLED_H

#include <pthread.h>

namespace carry::jit {

/*
 * While one lives its thread is not cancelled. Files are opened and written here, by calls that are
 * points of cancellation: the stack would be unwound there, through functions that are noexcept.
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
