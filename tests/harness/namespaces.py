# SPDX-License-Identifier: MIT
"""Creates network namespaces for tests, and opens sockets in them.

A process in the namespace opens sockets on request. It exits when its connection closes, so the
namespace ends with the test, however the test ends. The first namespace lies in a user namespace
where that is permitted, so that root is not required.
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

SECONDS = 120  # limit for operations that take milliseconds: the machine may be busy

# The user's PATH, with the folders of network tools, which it may lack.
PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"

# Options to create a namespace, and to enter it: as an ordinary user, and as root.
WAYS = [
    (["--user", "--map-root-user", "--net"], ["--user", "--preserve-credentials", "--net"]),
    (["--net"], ["--net"]),
]


class NotPermittedError(Exception):
    """Namespaces are not permitted here; the message gives the reason."""


@dataclass(frozen=True)
class Namespace:
    holder: subprocess.Popen[bytes]
    enter: Sequence[str]  # options for nsenter
    line: socket.socket  # connection to the process `holder`

    def command(self, *words: str | Path) -> list[str]:
        """Returns the command that runs `words` in the namespace without an intermediate
        process."""
        target = f"--target={self.holder.pid}"
        return ["nsenter", target, *self.enter, *map(str, words)]

    def attempt(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs a command, which may fail."""
        return subprocess.run(
            self.command(*words),
            capture_output=True,
            text=True,
            errors="surrogateescape",  # interface names may contain any bytes
            timeout=SECONDS,
            env=os.environ | {"PATH": PATH},
        )

    def run(self, *words: str | Path) -> str:
        """Runs a command, which must succeed, and returns what it printed."""
        done = self.attempt(*words)
        assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.stderr}"
        return done.stdout

    def socket(self, family: int, kind: int, protocol: int = 0) -> socket.socket:
        """Returns a socket that is in the namespace, for use in this process."""
        self.line.send(f"{family} {kind} {protocol}".encode())
        message, fds, _, _ = socket.recv_fds(self.line, 256, 1)
        assert fds, message.decode()
        made = socket.socket(fileno=fds[0])
        made.settimeout(SECONDS)
        return made


@contextlib.contextmanager
def make(outer: Namespace | None = None) -> Iterator[Namespace]:
    """Creates a namespace, in the user namespace of `outer` if given, so that links can join
    both."""
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
    """Runs in the namespace: answers requests for sockets until the connection closes."""
    line.send(b"ready")
    while request := line.recv(64):
        try:
            with socket.socket(*map(int, request.split())) as made:
                socket.send_fds(line, [b"socket"], [made.fileno()])
        except OSError as error:
            line.send(str(error).encode())


if __name__ == "__main__":
    hand_out(socket.socket(fileno=int(sys.argv[1])))
