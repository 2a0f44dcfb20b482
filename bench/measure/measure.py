# SPDX-License-Identifier: MIT
"""Takes samples: who runs when, for how long, and what is thrown away."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from measure.plan import Cell
from measure.process import Function, PeerProcess, ProcessError, Sample, Verdict
from measure.stats import disturbed

SAMPLE_NS = 100_000
SLOW_CALL_NS = 20_000_000  # who takes longer is not timed there
MIX_SAMPLE_CALLS = 4096
LARGE_EVERY = 4  # rounds
RARE_SIZE = 1 << 18


@dataclass
class Lane:
    """A process, and what it has to offer."""

    name: str
    process: PeerProcess
    functions: list[Function] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)


@dataclass
class Subject:
    """A function that is timed."""

    lane: Lane
    function: Function
    name: str  # under which its times are reported
    limit: int | None = None  # timed below this size
    broken: str = ""  # why it is no longer timed

    def fits(self, cell: Cell) -> bool:
        largest = 1500 if cell.is_mix else cell.size
        below = self.limit is None or largest < self.limit
        return self.function.work == cell.work and below and not self.broken


@dataclass
class Plan:
    starts: int
    rounds: int  # for each start
    seconds: float  # no start after these


@dataclass
class Samples:
    """Nanoseconds a call: by cell and subject, then start and round; NaN where there is none."""

    ns: np.ndarray
    taken: int
    discarded: int
    starts: int


def verify(lanes: list[Lane]) -> tuple[list[Subject], list[tuple[str, Verdict]]]:
    """What can be timed, and who was wrong."""
    subjects, wrong = [], []
    for lane in lanes:
        for function in lane.functions:
            verdict = lane.process.verify(function) if function.is_peer else Verdict()
            if verdict.limit is not None:
                wrong.append((function.name, verdict))
            if verdict.limit is None or verdict.limit > 65535:
                # Each process has its floor.
                name = function.name if function.is_peer else f"{function.name}@{lane.name}"
                subjects.append(Subject(lane, function, name, verdict.limit))
    return subjects, wrong


class Run:
    def __init__(
        self,
        cells: list[Cell],
        subjects: list[Subject],
        plan: Plan,
        step: Callable[[float, str], None],
    ) -> None:
        self.cells = cells
        self.subjects = subjects
        self.plan = plan
        self.step = step
        self.lanes = list({id(subject.lane): subject.lane for subject in subjects}.values())
        self.calls: dict[tuple[int, int], int] = {}
        shape = (len(cells), len(subjects), plan.starts, plan.rounds)
        self.ns = np.full(shape, np.nan)
        self.before = np.full(shape, np.nan)
        self.after = np.full(shape, np.nan)

    def ask(self, subjects: list[int], questions: list[str]) -> list[Sample | None]:
        """Questions to one process. Who ends it is not asked again."""
        lane = self.subjects[subjects[0]].lane
        try:
            return list(lane.process.times(questions))
        except ProcessError:
            lane.process.restart()
        answers: list[Sample | None] = []
        for subject, question in zip(subjects, questions, strict=True):
            try:
                answers += lane.process.times([question])
            except ProcessError as error:
                self.subjects[subject].broken = f"{question}: {error}"
                self.ns[:, subject] = np.nan
                answers.append(None)
                lane.process.restart()
        return answers

    def calibrate(self, cell: int, subject: int) -> int:
        """How many calls make a sample; 0: not to be timed."""
        function = self.subjects[subject].function.name
        calls = 1
        while True:
            question = self.cells[cell].question(function, 0, calls)
            took = math.inf
            for _ in range(2):
                sample = self.ask([subject], [question])[0]
                if not sample:
                    return 0
                took = min(took, max(1, sample.ns))
            if took * 8 >= SAMPLE_NS:
                break
            calls *= 4
        if took / calls > SLOW_CALL_NS:
            return 0
        fitting = max(1, round(calls * SAMPLE_NS / took))
        # Of a mix all do as many calls, but for those who would take very long.
        if self.cells[cell].is_mix:
            return MIX_SAMPLE_CALLS if fitting * 64 >= MIX_SAMPLE_CALLS else max(fitting, 16)
        return fitting

    def calls_for(self, cell: int, subject: int) -> int:
        key = (cell, subject)
        if key not in self.calls:
            self.calls[key] = self.calibrate(cell, subject)
        return self.calls[key]

    def measure_cell(self, cell: int, start: int, turn: int) -> None:
        shape = self.cells[cell]
        number = start * self.plan.rounds + turn
        if shape.size >= RARE_SIZE and turn % LARGE_EVERY:
            return
        # Another process leads each round, and in it another function.
        first = number % len(self.lanes)
        for lane in self.lanes[first:] + self.lanes[:first]:
            asked = [
                index
                for index, subject in enumerate(self.subjects)
                if subject.lane is lane and subject.fits(shape) and self.calls_for(cell, index)
            ]
            if not asked:
                continue
            lead = number % len(asked)
            asked = asked[lead:] + asked[:lead]
            questions = []
            for place, subject in enumerate(asked):
                calls = self.calls[cell, subject]
                name = self.subjects[subject].function.name
                # Of a mix nobody does the calls that another has just done, and left in the caches.
                first_call = (number * len(asked) + place) * calls
                questions.append(shape.question(name, first_call, calls))
            for subject, sample in zip(asked, self.ask(asked, questions), strict=True):
                if sample:
                    at = (cell, subject, start, turn)
                    self.ns[at] = sample.ns / self.calls[cell, subject]
                    self.before[at] = sample.before
                    self.after[at] = sample.after

    def discard(self) -> int:
        """Throws away the samples beside which the canary was slow."""
        thrown = 0
        for lane in self.lanes:
            own = [i for i, subject in enumerate(self.subjects) if subject.lane is lane]
            for start in range(self.plan.starts):
                before, after = (canary[:, own, start] for canary in (self.before, self.after))
                if np.isnan(before).all():
                    continue
                bad = disturbed(before, after)
                thrown += int(bad.sum())
                kept = self.ns[:, own, start]
                kept[bad] = np.nan
                self.ns[:, own, start] = kept
        return thrown

    def tell(self, start: int, turn: int, cell: int, seconds: float) -> None:
        """How far it is: by what is done, or by the time that it may take."""
        rounds = start * self.plan.rounds + turn + cell / len(self.cells)
        share = rounds / (self.plan.starts * self.plan.rounds)
        share = min(1.0, max(share, seconds / self.plan.seconds))
        self.step(share, f"start {start + 1} of {self.plan.starts}")

    def take(self) -> Samples:
        begin = time.monotonic()
        seconds, starts = 0.0, 0
        while starts < self.plan.starts and seconds <= self.plan.seconds:
            for lane in self.lanes:
                lane.process.restart()
            for turn in range(self.plan.rounds):
                for cell in range(len(self.cells)):
                    self.tell(starts, turn, cell, time.monotonic() - begin)
                    self.measure_cell(cell, starts, turn)
            starts += 1
            seconds = time.monotonic() - begin
        for lane in self.lanes:
            lane.process.stop()
        taken = int(np.count_nonzero(~np.isnan(self.ns)))
        return Samples(self.ns, taken, self.discard(), starts)
