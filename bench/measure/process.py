# SPDX-License-Identifier: MIT
"""Communicates with the process of a language's peers, by the protocol in CONTRACT.md."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

WORKS = (
    *("sum", "sum_copy", "copy", "sum_chain", "sum_odd_chain"),
    *("call", "branch", "switch"),
)
FLAGS = ("floor", "bound", "seedless")
ANSWER_SECONDS = 60.0


class ProcessError(Exception):
    """Reports that the process died, hung, or violated the contract."""


@dataclass(frozen=True)
class Function:
    name: str
    work: str
    flags: tuple[str, ...] = ()

    @property
    def is_peer(self) -> bool:
        return not {"floor", "bound"} & set(self.flags)


@dataclass(frozen=True)
class Verdict:
    """The result of verification: the function is right below `limit` bytes, or for all sizes if
    `limit` is None."""

    limit: int | None = None
    text: str = ""


class Sample(NamedTuple):
    ns: int
    before: int
    after: int


class PeerProcess:
    def __init__(self, program: Path, work: Path, cpu: int | None = None) -> None:
        self.program = program
        self.work = work
        self.cpu = cpu
        self.child: subprocess.Popen[bytes] | None = None
        self.buffer = b""

    def start(self) -> None:
        def pin() -> None:
            if self.cpu is not None:
                os.sched_setaffinity(0, {self.cpu})

        self.child = subprocess.Popen(
            [str(self.program), str(self.work)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            preexec_fn=pin,
        )
        self.buffer = b""
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.child.stdout, selectors.EVENT_READ)

    def stop(self) -> None:
        """Ends the process by closing its input; kills it if it does not end."""
        child, self.child = self.child, None
        if not child:
            return
        self.selector.close()
        child.stdin.close()
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()

    def restart(self) -> None:
        self.stop()
        self.start()

    def death(self) -> ProcessError:
        status = self.child.wait() if self.child else 0
        if status < 0:
            return ProcessError(f"ended by {signal.Signals(-status).name}")
        return ProcessError(f"ended with exit status {status}")

    def read_line(self, seconds: float = ANSWER_SECONDS) -> str:
        while b"\n" not in self.buffer:
            if not self.selector.select(seconds):
                self.child.kill()
                self.child.wait()
                raise ProcessError(f"no answer within {seconds:.0f} s")
            part = os.read(self.child.stdout.fileno(), 65536)
            if not part:
                raise self.death()
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode(errors="replace")

    def send(self, *lines: str) -> None:
        try:
            self.child.stdin.write("".join(f"{line}\n" for line in lines).encode())
        except BrokenPipeError as error:
            raise self.death() from error

    # --- Questions ---

    def list(self) -> tuple[list[Function], dict[str, str]]:
        """Returns the functions and the notes of the process."""
        functions, notes = [], {}
        self.send("list")
        while (line := self.read_line()) != "end":
            match line.split():
                case ["function", name, work, *flags] if work in WORKS and set(flags) <= set(FLAGS):
                    functions.append(Function(name, work, tuple(flags)))
                case ["note", key, *words]:
                    notes[key] = " ".join(words)
                case _:
                    raise ProcessError(f"does not belong to a list: {line[:80]}")
        names = [function.name for function in functions]
        if len(set(names)) != len(names):
            raise ProcessError("lists a function twice")
        return functions, notes

    def verify(self, function: Function) -> Verdict:
        """Verifies a function. If the process dies, the function is wrong; the process restarts."""
        try:
            self.send(f"verify {function.name}")
            line = self.read_line()
        except ProcessError as error:
            self.restart()
            return Verdict(0, str(error))
        match line.split():
            case ["right"]:
                return Verdict()
            case ["wrong", size, *words] if size.isdecimal():
                return Verdict(int(size), " ".join(words))
        return Verdict(0, f"does not say right or wrong: {line[:80]}")

    def times(self, questions: list[str]) -> list[Sample]:
        """Returns the answers to questions of the form "NAME MODE OFFSET TO SIZE FIRST CALLS"."""
        self.send(*(f"time {question}" for question in questions))
        samples = []
        for question in questions:
            line = self.read_line()
            words = line.split()
            if len(words) != 3 or not all(word.isdecimal() for word in words):
                raise ProcessError(f"time {question}: {line[:80]}")
            samples.append(Sample(*map(int, words)))
        return samples
