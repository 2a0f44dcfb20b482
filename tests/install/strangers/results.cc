// SPDX-License-Identifier: MIT
// Results of functions that set only one byte of the register; the rest is undefined.
#include <carry/patch.h>

#include "../linkers/expect.h"

enum class answer : bool { no, yes };

__asm__(".pushsection .text\n\t"
        ".type say_no, @function\n"
        "say_no: mov $0xffffff00, %eax\n\t"
        "ret\n\t"
        ".size say_no, . - say_no\n\t"
        ".popsection");

extern "C" {
bool plain_no(int) __asm__("say_no");
const bool constant_no(int) __asm__("say_no");
answer enumerated_no(int) __asm__("say_no");
}

CARRY_OP(bool, plain, int);
CARRY_OP(const bool, constant, int);
CARRY_OP(answer, enumerated, int);
CARRY_OP_DEFINE(plain, plain_no);
CARRY_OP_DEFINE(constant, constant_no);
CARRY_OP_DEFINE(enumerated, enumerated_no);

int main() {
    EXPECT(carry_call(plain)(1), false);
    EXPECT(carry_call(constant)(1), false);
    EXPECT(carry_call(enumerated)(1) == answer::yes, false);
    carry_patch_apply(0);
    EXPECT(carry_call(plain)(1), false);
    EXPECT(carry_call(constant)(1), false);
    EXPECT(carry_call(enumerated)(1) == answer::yes, false);
    return result();
}
