/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "bench/live_run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <carry/packet.h>

#include "common/clock.h"
#include "common/command.h"

#define START    "carry-start"
#define MISSING  127
#define BURST    32
#define SAID_MAX 65536
#define READY_MS 10000

/* --- The wire --- */

static bool write_proc_file(const char *path, const char *text) {
    const int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    const bool ok = descriptor >= 0 && write(descriptor, text, strlen(text)) > 0;
    if (descriptor >= 0)
        close(descriptor);
    return ok;
}

/* Enters a new network namespace. If that is not permitted, tries again in a new user namespace. */
static bool enter_namespace(void) {
    char map[64];
    const unsigned user = geteuid();
    if (unshare(CLONE_NEWNET) == 0)
        return true;
    snprintf(map, sizeof map, "0 %u 1", user);
    return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && write_proc_file("/proc/self/uid_map", map);
}

/* Runs a command, split at spaces. Returns false after a message on failure. */
static bool run_words(const char *text) {
    char words[256], *arguments[24] = {0}, *rest = words;
    int status = 0;
    snprintf(words, sizeof words, "%s", text);
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments - 1 && rest; i++)
        arguments[i] = strsep(&rest, " ");
    const pid_t child = fork();
    if (child == 0) {
        execvp(arguments[0], arguments);
        _exit(MISSING);
    }
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0)
        return true;
    command_error("bench live needs an interface pair, and '%s' failed", text);
    return false;
}

bool live_run_begin(void) {
    if (!enter_namespace()) {
        command_error("bench live needs a network namespace: %s", strerror(errno));
        return false;
    }
    return run_words("ip link add " START " type veth peer name " LIVE_RUN_END) &&
           run_words("ip link set " START " addrgenmode none multicast off up") &&
           run_words("ip link set " LIVE_RUN_END " addrgenmode none multicast off up");
}

/* --- Sending --- */

static int open_start(void) {
    const struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_LOOPBACK),
        .sll_ifindex = (int)if_nametoindex(START),
    };
    const int made = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (made >= 0)
        bind(made, (const struct sockaddr *)&address, sizeof address);
    return made;
}

/* Makes a frame of UDP over IPv4 in Ethernet, with good sums. */
static void make_udp_frame(uint8_t *frame, uint32_t size) {
    static const uint8_t head[] = {2,  0,    0, 0, 0,  2, 2, 0, 0,  0,   0,  1, 8,
                                   0,  0x45, 0, 0, 0,  0, 0, 0, 0,  64,  17, 0, 0,
                                   10, 0,    0, 1, 10, 0, 0, 2, 19, 136, 0,  53};
    const uint16_t ip = htons((uint16_t)(size - 14)), udp = htons((uint16_t)(size - 34));
    memset(frame, 0x5a, size);
    memset(frame, 0, 42);
    memcpy(frame, head, sizeof head);
    memcpy(frame + 16, &ip, sizeof ip);
    memcpy(frame + 38, &udp, sizeof udp);
    const struct carry_frame whole = {frame, size, size, 1, 0};
    carry_packet_fill(&whole, NULL, NULL, 0);
}

/* Returns the number of packets to send in the first `since` nanoseconds. */
static uint64_t packets_due(const struct live_trial *trial, int64_t since) {
    if (trial->rate == LIVE_RUN_FASTEST)
        return UINT64_MAX;
    return (uint64_t)((double)since / CLOCK_SECOND * (double)trial->rate);
}

static void send_frames(const struct live_trial *trial, struct live_outcome *outcome) {
    uint8_t frame[ETH_FRAME_LEN];
    struct iovec bytes = {frame, trial->size};
    struct mmsghdr messages[BURST];
    const int socket = open_start();
    const int64_t used = clock_read(CLOCK_THREAD_CPUTIME_ID);
    const int64_t start = clock_ns(), end = (int64_t)(trial->seconds * CLOCK_SECOND);
    int64_t since = 0;
    make_udp_frame(frame, trial->size);
    memset(messages, 0, sizeof messages);
    for (size_t i = 0; i < BURST; i++)
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &bytes, .msg_iovlen = 1};
    for (; since < end; since = clock_ns() - start) {
        const int sent =
            packets_due(trial, since) > outcome->sent ? sendmmsg(socket, messages, BURST, 0) : 0;
        outcome->sent += sent > 0 ? (uint64_t)sent : 0;
    }
    outcome->rate = (double)outcome->sent * CLOCK_SECOND / (double)since;
    outcome->busy = (double)(clock_read(CLOCK_THREAD_CPUTIME_ID) - used) / (double)since;
    close(socket);
}

/* --- The program --- */

/* The text that the program wrote to standard output and standard error. */
struct said {
    char text[SAID_MAX];
    size_t size;
    int pipe;
};

static void exec_program(const char *const *command, const int pipe[2]) {
    char *arguments[16] = {0};
    for (size_t i = 0; command[i] && i < sizeof arguments / sizeof *arguments - 1; i++)
        arguments[i] = (char *)command[i];
    dup2(pipe[1], STDOUT_FILENO);
    dup2(pipe[1], STDERR_FILENO);
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the program does not end by itself */
    if (strcmp(arguments[0], "carry") == 0)
        execv("/proc/self/exe", arguments);
    else
        execvp(arguments[0], arguments);
    _exit(MISSING);
}

/* Reads more output. Returns false at its end, after an error, if the buffer is full, or if
 * nothing arrives for READY_MS. */
static bool read_more_output(struct said *said) {
    struct pollfd wait = {.fd = said->pipe, .events = POLLIN};
    if (poll(&wait, 1, READY_MS) <= 0 || said->size == sizeof said->text - 1)
        return false;
    const ssize_t got =
        read(said->pipe, said->text + said->size, sizeof said->text - 1 - said->size);
    if (got <= 0)
        return false;
    said->size += (size_t)got;
    said->text[said->size] = '\0';
    return true;
}

static bool wait_until_ready(struct said *said, const char *ready) {
    while (!strstr(said->text, ready))
        if (!read_more_output(said))
            return false;
    return true;
}

/* Reads a line such as "12 packets dropped by kernel". Returns whether there is one. */
static bool read_tcpdump(const char *text, uint64_t *dropped) {
    const char *line = strstr(text, " packets dropped by kernel");
    while (line && line > text && line[-1] != '\n')
        line--;
    return line && sscanf(line, "%" SCNu64, dropped) == 1;
}

/* Reads the last report of carry live. Returns whether there is one. */
static bool read_carry(const char *text, uint64_t *dropped) {
    const char *line = strstr(text, "{\"schema\"");
    json_int_t packets = 0;
    for (const char *next = line; next; next = strstr(line + 1, "{\"schema\""))
        line = next;
    json_t *report = line ? json_loads(line, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    const bool ok =
        report && json_unpack(report, "{s:[{s:I}]}", "dropped", "packets", &packets) == 0;
    *dropped = (uint64_t)packets;
    json_decref(report);
    return ok;
}

static void measure_trial(struct said *said, pid_t child, const char *ready,
                          const struct live_trial *trial, struct live_outcome *outcome) {
    struct rusage used = {0};
    int status = 0;
    const bool watches = wait_until_ready(said, ready);
    if (watches)
        send_frames(trial, outcome);
    kill(child, SIGTERM);
    while (read_more_output(said))
        continue;
    kill(child, SIGKILL); /* in case it hangs */
    wait4(child, &status, 0, &used);
    const bool ok =
        read_carry(said->text, &outcome->dropped) || read_tcpdump(said->text, &outcome->dropped);
    outcome->cpu_seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    outcome->peak_bytes = (uint64_t)used.ru_maxrss * 1024;
    if (watches && ok)
        outcome->state = LIVE_MEASURED;
    else if (WIFEXITED(status) && WEXITSTATUS(status) == MISSING)
        outcome->state = LIVE_MISSING;
}

struct live_outcome live_run(const char *const *command, const char *ready,
                             const struct live_trial *trial) {
    struct live_outcome outcome = {.state = LIVE_BROKEN};
    struct said *said = calloc(1, sizeof *said);
    int pipe[2];
    if (!said || pipe2(pipe, O_CLOEXEC)) {
        free(said);
        return outcome;
    }
    const pid_t child = fork();
    if (child == 0)
        exec_program(command, pipe);
    close(pipe[1]);
    said->pipe = pipe[0];
    if (child > 0)
        measure_trial(said, child, ready, trial, &outcome);
    close(pipe[0]);
    free(said);
    return outcome;
}
