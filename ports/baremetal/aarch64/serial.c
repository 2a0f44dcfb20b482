/* SPDX-License-Identifier: MIT */
/* Writes to the serial port (PL011), and sends requests to the emulator (semihosting). */
#include "kernel.h"

#define SERIAL         UINT64_C(0x09000000)
#define SERIAL_DATA    0x00
#define SERIAL_FLAGS   0x18
#define SERIAL_IS_FULL 0x20

#define SYS_GET_CMDLINE   0x15
#define SYS_EXIT_EXTENDED 0x20
#define APPLICATION_EXIT  0x20026

static volatile uint32_t *serial_register(unsigned index) {
    return (volatile uint32_t *)(SERIAL + index);
}

void print_prepare(void) {
}

void print_char(char c) {
    if (c == '\n')
        print_char('\r');
    while (*serial_register(SERIAL_FLAGS) & SERIAL_IS_FULL)
        cpu_pause();
    *serial_register(SERIAL_DATA) = (uint8_t)c;
}

static uint64_t call_semihosting(uint64_t operation, uint64_t *arguments) {
    register uint64_t x0 __asm__("x0") = operation;
    register uint64_t *x1 __asm__("x1") = arguments;
    __asm__ volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
    return x0;
}

/* Returns the file name of the kernel, followed by the text that QEMU's option -append gives. */
const char *kernel_command_line(void) {
    static char line[512];
    uint64_t arguments[] = {(uint64_t)line, sizeof line};
    if (!*line && call_semihosting(SYS_GET_CMDLINE, arguments))
        line[0] = '\0';
    return line;
}

/* Returns false: on AArch64 this kernel only runs tests. */
bool kernel_ran_instead(void) {
    return false;
}

void kernel_exit(int status) {
    uint64_t arguments[] = {APPLICATION_EXIT, (uint64_t)status};
    call_semihosting(SYS_EXIT_EXTENDED, arguments);
    for (;;)
        __asm__ volatile("wfi");
}
