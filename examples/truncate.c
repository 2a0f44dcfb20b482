/* SPDX-License-Identifier: MIT */
/*
 * Reads packets from a file that another process truncates, as a guest or a peer may take a shared
 * buffer away at any time. A plain copy would end the program with SIGBUS; carry_copy_try() returns
 * how many bytes it did not copy.
 *
 * usage: truncate [PACKETS]    reads until PACKETS packets were cut short (default: 1,000)
 */
#include <carry/carry.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_BYTES = 64 * 4096, PACKET_BYTES = 1500 };

/* Runs as the peer: makes the file short and long again, until it is killed or has no reader. */
static void keep_truncating(int file, pid_t reader) {
    for (unsigned i = 0; getppid() == reader; i++)
        if (ftruncate(file, i % 2 ? FILE_BYTES : (off_t)(i % 64) * 4096))
            _exit(1);
    _exit(0);
}

static void read_packets(const unsigned char *shared, unsigned long wanted) {
    unsigned char packet[PACKET_BYTES];
    unsigned long whole = 0;
    unsigned long cut = 0;
    unsigned long bytes_left = 0;
    for (size_t at = 0; cut < wanted; at = (at + PACKET_BYTES) % (FILE_BYTES - PACKET_BYTES)) {
        size_t left = carry_copy_try(packet, shared + at, PACKET_BYTES);
        whole += !left;
        cut += left != 0;
        bytes_left += left;
    }
    printf("%lu packets read, %lu cut short by %lu bytes\n", whole, cut, bytes_left);
}

int main(int argc, char **argv) {
    unsigned long wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    FILE *file = tmpfile();
    if (!file || ftruncate(fileno(file), FILE_BYTES))
        return 1;
    const void *shared = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fileno(file), 0);
    if (shared == MAP_FAILED)
        return 1;
    if (carry_fault_acquire())
        puts("no handlers here: each copy is a call of the system");
    pid_t reader = getpid();
    pid_t peer = fork();
    if (peer < 0)
        return 1;
    if (peer == 0)
        keep_truncating(fileno(file), reader);
    read_packets(shared, wanted);
    kill(peer, SIGKILL);
    waitpid(peer, NULL, 0);
    carry_fault_release();
    return 0;
}
