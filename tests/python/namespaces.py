# SPDX-License-Identifier: MIT
"""Network namespaces of the tests' own, and sockets in them.

A namespace is a process that runs there and hands out sockets on request. It ends, and the
namespace with it, when the connection to it closes: when the test ends, however it does. The first
namespace has a user namespace around it where that is permitted, so nobody has to be root.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 120  # for what takes milliseconds, on a busy machine too

# Where tools that configure networks are, which not everybody's PATH says.
PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"

# How to make a namespace, and how to enter it: without being root, and as root.
WAYS = [
    (["--user", "--map-root-user", "--net"], ["--user", "--preserve-credentials", "--net"]),
    (["--net"], ["--net"]),
]


class NotPermittedError(Exception):
    """No namespaces here, and why."""


@dataclass(frozen=True)
class Namespace:
    holder: subprocess.Popen[bytes]
    enter: Sequence[str]  # options of nsenter
    line: socket.socket  # to the holder

    def command(self, *words: str | Path) -> list[str]:
        """The command that runs `words` in the namespace, without a process in between."""
        target = f"--target={self.holder.pid}"
        return ["nsenter", target, *self.enter, *map(str, words)]

    def attempt(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs a command, which may fail."""
        return subprocess.run(
            self.command(*words),
            capture_output=True,
            text=True,
            errors="surrogateescape",  # names of interfaces may have any bytes
            timeout=SECONDS,
            env=os.environ | {"PATH": PATH},
        )

    def run(self, *words: str | Path) -> str:
        """Runs a command, which must succeed, and returns what it printed."""
        done = self.attempt(*words)
        assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.stderr}"
        return done.stdout

    def socket(self, family: int, kind: int, protocol: int = 0) -> socket.socket:
        """A socket in the namespace, for use out here."""
        self.line.send(f"{family} {kind} {protocol}".encode())
        message, fds, _, _ = socket.recv_fds(self.line, 256, 1)
        assert fds, message.decode()
        made = socket.socket(fileno=fds[0])
        made.settimeout(SECONDS)
        return made


@contextlib.contextmanager
def make(outer: Namespace | None = None) -> Iterator[Namespace]:
    """A new namespace; one within the user namespace of another, so that links can join both."""
    ways = [(["--net"], outer.enter)] if outer else WAYS
    errors = []
    for options, enter in ways:
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = ["unshare", *options, sys.executable, __file__, str(there.fileno())]
        holder = subprocess.Popen(
            outer.command(*words) if outer else words,
            pass_fds=[there.fileno()],
            stderr=subprocess.PIPE,
        )
        there.close()
        with holder, here:
            here.settimeout(SECONDS)
            if here.recv(8):
                yield Namespace(holder, enter, here)
                return
            assert holder.stderr
            errors.append(holder.stderr.read().decode().strip())
    raise NotPermittedError("; ".join(errors))


def hand_out(line: socket.socket) -> None:
    """What the process in the namespace does: answers requests until nobody is left to ask."""
    line.send(b"ready")
    while request := line.recv(64):
        try:
            with socket.socket(*map(int, request.split())) as made:
                socket.send_fds(line, [b"socket"], [made.fileno()])
        except OSError as error:
            line.send(str(error).encode())


if __name__ == "__main__":
    hand_out(socket.socket(fileno=int(sys.argv[1])))
