/* SPDX-License-Identifier: MIT */
/* stand-in */
void test_patch(void);
void test_patch(void) {
}
