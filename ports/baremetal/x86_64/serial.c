/* SPDX-License-Identifier: MIT */
/* Writes to the serial port, and ends emulators. */
#include "io.h"
#include "kernel.h"

#define SERIAL 0x3f8

void print_prepare(void) {
    io_out(SERIAL + 1, 0); /* no interrupts */
    io_out(SERIAL + 3,
           0x83); /* divisor for 115,200 baud: Bochs emulates the delays of slower rates */
    io_out(SERIAL, 1);
    io_out(SERIAL + 1, 0);
    io_out(SERIAL + 3, 3); /* 8 bits, no parity */
}

void print_char(char c) {
    if (c == '\n')
        print_char('\r');
    while (!(io_in(SERIAL + 5) & 0x20))
        cpu_pause();
    io_out(SERIAL, (uint8_t)c);
}

/*
 * Ends the emulator: QEMU's isa-debug-exit returns 2 * status + 1; Bochs exits when "Shutdown" is
 * written to port 0x8900. Other machines halt.
 */
void kernel_exit(int status) {
    io_out(0xf4, (uint8_t)status);
    for (const char *word = "Shutdown"; *word; word++)
        io_out(0x8900, (uint8_t)*word);
    for (;;)
        __asm__ volatile("cli; hlt");
}
