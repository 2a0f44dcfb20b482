/* SPDX-License-Identifier: MIT */
/*
 * Pages of instructions. No page is ever writable and executable at once, and none that was
 * executable is written again: what is forked shares them without harm, and no other core, emulator
 * or checker runs what stood there before.
 */
#ifndef CARRY_JIT_TEXT_H
#define CARRY_JIT_TEXT_H

#include <cstddef>
#include <cstdint>

namespace carry::jit {

/* Room for one function, on pages of its own. Not for two threads at once. */
class Text {
  public:
    Text() = default;
    Text(Text &&other) noexcept;
    Text &operator=(Text &&) = delete;
    ~Text();

    /* Writable room for `size` bytes, at least 1, zeros. Returns 0 or an error. */
    int map(size_t size);
    /* Makes it executable, where it is. Returns 0 or an error. */
    int finish();
    uint8_t *start() const {
        return pages + offset;
    }

  private:
    int replace_by_file();

    uint8_t *pages = nullptr;
    size_t bytes = 0;  /* of the pages */
    size_t offset = 0; /* where the function begins on the first of them */
};

} // namespace carry::jit

#endif
