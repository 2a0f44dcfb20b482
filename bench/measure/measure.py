# SPDX-License-Identifier: MIT
"""Takes samples: decides which function runs when, and for how long."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from measure.canary import Canaries, judge, usual
from measure.plan import TOLERANCE, Cell
from measure.process import Function, PeerProcess, ProcessError, Sample, Verdict

SAMPLE_NS = 100_000
REST_NS = 20_000  # for the empty function, before each sample
SETTLE_NS = 1_200_000  # after a function that lowers the clock: it recovers in about a millisecond
HABIT = 2  # slow canaries in a row that show that a function lowers the clock
EMPTY_CALLS = 1 << 12  # to measure an empty call
SLOW_CALL_NS = 20_000_000  # a function whose calls take longer is not timed in the cell
MIX_SAMPLE_CALLS = 4096
LARGE_EVERY = 4  # cells of RARE_SIZE bytes or more are measured in one of this number of rounds
RARE_SIZE = 1 << 18


@dataclass
class Lane:
    """A process, and its functions."""

    name: str
    process: PeerProcess
    functions: list[Function] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    empty: Function | None = None
    empty_ns: float = 1.0  # nanoseconds of a call of the empty function
    usual: float = math.inf  # nanoseconds of the canary beside the empty function

    def ask_list(self) -> None:
        self.functions, self.notes = self.process.list()
        floors = [function for function in self.functions if "floor" in function.flags]
        if not floors:
            raise ProcessError("lists no empty function")
        self.empty = min(floors, key=lambda floor: floor.work != "sum")
        trials = self.process.times([self.empty_question(EMPTY_CALLS)] * 3)
        self.empty_ns = max(1, min(trial.ns for trial in trials)) / EMPTY_CALLS

    def rest_question(self, ns: float) -> str:
        """Returns a question that runs the empty function for `ns` nanoseconds."""
        return self.empty_question(math.ceil(ns / self.empty_ns))

    def empty_question(self, calls: int) -> str:
        return Cell(self.empty.work, "hot", 64).question(self.empty.name, 0, calls)


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
        knows = not cell.is_beside or "beside" in self.lane.notes
        return self.function.work == cell.work and below and knows and not self.broken


@dataclass
class Plan:
    starts: int
    rounds: int  # for each start
    seconds: float  # no start begins later


@dataclass
class Samples:
    """Nanoseconds of a call: by cell and subject, then start and round; NaN without a sample."""

    ns: np.ndarray
    clock: np.ndarray  # by cell and subject: the canary's time, divided by its undisturbed time
    taken: int
    discarded: int
    lowered: int  # samples that were kept although the clock was low: the function lowers it
    starts: int


Answer = tuple[Sample, Sample]  # samples of the empty function and of the timed function


def verify(lanes: list[Lane]) -> tuple[list[Subject], list[tuple[str, Verdict]]]:
    """Returns the functions that can be timed, and the wrong functions with their verdicts."""
    subjects, wrong = [], []
    for lane in lanes:
        for function in lane.functions:
            verdict = lane.process.verify(function) if function.is_peer else Verdict()
            if verdict.limit is not None:
                wrong.append((function.name, verdict))
            if verdict.limit is None or verdict.limit > 65535:
                # Each process has its own floor.
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
        self.canaries = Canaries.empty(shape)
        self.slow: Counter[tuple[int, int]] = Counter()  # slow canaries of a function, in a row
        self.last: tuple[int, int] = (0, 0)
        self.probes: defaultdict[tuple[int, int], list[int]] = defaultdict(list)

    def rest_before(self, lane: Lane, cell: int, subject: int) -> str:
        """Returns a question that rests before a sample: longer after a function that lowers the
        clock."""
        ns = SETTLE_NS if self.slow[self.last] >= HABIT else REST_NS
        self.last = (cell, subject)
        return lane.rest_question(ns)

    def ask(self, cell: int, subjects: list[int], questions: list[str]) -> list[Answer | None]:
        """Asks a process several questions. Returns an answer for each, or None if its function
        ends the process: such functions are not timed again."""
        lane = self.subjects[subjects[0]].lane
        asked = [
            (self.rest_before(lane, cell, subject), question)
            for subject, question in zip(subjects, questions, strict=True)
        ]
        try:
            answered = lane.process.times([question for pair in asked for question in pair])
            return list(zip(answered[::2], answered[1::2], strict=True))
        except ProcessError:
            lane.process.restart()
        answers: list[Answer | None] = []
        for subject, pair in zip(subjects, asked, strict=True):
            try:
                rest, sample = lane.process.times(list(pair))
                answers.append((rest, sample))
            except ProcessError as error:
                self.subjects[subject].broken = f"{pair[1]}: {error}"
                self.ns[:, subject] = np.nan
                answers.append(None)
                lane.process.restart()
        return answers

    def calibrate(self, cell: int, subject: int) -> int:
        """Returns the number of calls of a sample, or 0 if the function is not timed in the
        cell."""
        function = self.subjects[subject].function.name
        calls = 1
        while True:
            question = self.cells[cell].question(function, 0, calls)
            took = math.inf
            for _ in range(2):
                answer = self.ask(cell, [subject], [question])[0]
                if not answer:
                    return 0
                took = min(took, max(1, answer[1].ns))
            if took * 8 >= SAMPLE_NS:
                break
            calls *= 4
        if took / calls > SLOW_CALL_NS:
            return 0
        fitting = max(1, round(calls * SAMPLE_NS / took))
        # Every function makes the same number of calls of a mix, unless that would take very long.
        # Beside other work, all functions take about the same time, so no rule is needed.
        if self.cells[cell].is_mix and not self.cells[cell].is_beside:
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
        # Each round begins with another process, and each process with another function.
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
                # No function repeats calls of a mix that the previous function made: their data is
                # in caches.
                first_call = (number * len(asked) + place) * calls
                questions.append(shape.question(name, first_call, calls))
            for subject, answer in zip(asked, self.ask(cell, asked, questions), strict=True):
                if answer:
                    self.keep((cell, subject, start, turn), *answer)

    def keep(self, at: tuple[int, int, int, int], rest: Sample, sample: Sample) -> None:
        cell, subject, _, _ = at
        self.ns[at] = sample.ns / self.calls[cell, subject]
        self.canaries.rest_before[at], self.canaries.rest[at] = rest.before, rest.after
        self.canaries.before[at], self.canaries.after[at] = sample.before, sample.after
        slow = sample.after > self.subjects[subject].lane.usual * TOLERANCE
        self.slow[at[:2]] = self.slow[at[:2]] + 1 if slow else 0

    def own(self, lane: Lane) -> list[int]:
        return [index for index, subject in enumerate(self.subjects) if subject.lane is lane]

    def probe(self, start: int) -> None:
        """Times the canary beside each process's empty function, when the clock has recovered."""
        for place, lane in enumerate(self.lanes):
            try:
                settled = lane.process.times([lane.rest_question(SETTLE_NS)])[0]
            except ProcessError:
                lane.process.restart()
                continue
            self.probes[place, start].append(settled.after)
            lane.usual = usual(self.probes[place, start])

    def rests(self, starts: int) -> np.ndarray:
        """Returns the lengths of samples, in rests beside the empty function."""
        calls = np.zeros(self.ns.shape[:2])
        for at, count in self.calls.items():
            calls[at] = count
        return self.ns[:, :, :starts] * calls[:, :, None, None] / REST_NS

    def samples(self, starts: int) -> Samples:
        """Returns the samples that no other program disturbed."""
        ns, rests = self.ns[:, :, :starts], self.rests(starts)
        taken = np.count_nonzero(~np.isnan(ns))
        clock, lowered = np.full(ns.shape[:2], np.nan), 0
        for place, lane in enumerate(self.lanes):
            own = self.own(lane)
            quiet = np.array([usual(self.probes[place, start]) for start in range(starts)])
            judged = judge(self.canaries.of(own, starts), quiet, rests[:, own])
            clock[:, own] = judged.clock
            kept = np.where(judged.disturbed, np.nan, ns[:, own])
            ns[:, own] = kept
            lowered += np.count_nonzero(~np.isnan(kept[judged.lowers]))
        discarded = taken - np.count_nonzero(~np.isnan(ns))
        return Samples(ns, clock, taken, discarded, lowered, starts)

    def report_progress(self, start: int, turn: int, cell: int, seconds: float) -> None:
        """Reports progress, by the rounds that are done or by the time that has passed."""
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
                self.probe(starts)
                for cell in range(len(self.cells)):
                    self.report_progress(starts, turn, cell, time.monotonic() - begin)
                    self.measure_cell(cell, starts, turn)
            starts += 1
            seconds = time.monotonic() - begin
        for lane in self.lanes:
            lane.process.stop()
        return self.samples(starts)
