/* SPDX-License-Identifier: MIT */
/*
 * Pages of instructions. No page is ever writable and executable at once, and no page that was
 * executable is written again. Thus forked processes can share pages, and no other core, emulator
 * or checker runs earlier contents.
 */
#ifndef CARRY_JIT_TEXT_H
#define CARRY_JIT_TEXT_H

#include <cstddef>
#include <cstdint>

namespace carry::jit {

/* The pages of one function. Only one thread at a time may use an object. */
class Text {
  public:
    Text() = default;
    Text(Text &&other) noexcept;
    Text &operator=(Text &&) = delete;
    ~Text();

    /* Maps writable zeros for `size` bytes, at least 1. Returns 0 or an error. */
    int map(size_t size);
    /* Makes the pages executable, at the same address. Returns 0 or an error. */
    int finish();
    uint8_t *start() const {
        return pages + offset;
    }

  private:
    int replace_by_file();

    uint8_t *pages = nullptr;
    size_t bytes = 0;  /* of the pages */
    size_t offset = 0; /* of the function on the first page */
};

} // namespace carry::jit

#endif
