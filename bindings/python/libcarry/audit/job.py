# SPDX-License-Identifier: MIT
"""Runs a job: lists captures, has workers check them, and commits the tables. A later run continues
the job."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Protocol

import fsspec.config
import pyarrow
import pyarrow.parquet

from .. import _carry
from . import engine, merge, pieces, plan, store, tables, tasks, worker
from .listing import Capture, find, with_digest, without_secrets
from .store import OWN, AuditError, Store
from .tasks import Batch, Outcome

# How often a capture may end its worker before the audit gives up on it.
_TRIES = 2
_READERS = 16
_KEY = ("file", "size", "modified", "digest")
_AGAIN = ("failed", "changed")  # statuses of captures that the next run reads again


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that a user selects."""

    sources: Sequence[str] = ()
    out: str = ""
    address: str | None = None
    threads: int | None = None
    partition: str | None = None
    split: int = 4 << 30  # size from which on a capture is read in pieces; 0: never
    max_errors: int | None = None
    verbose: bool = False
    storage: dict[str, dict[str, object]] = field(default_factory=dict)
    read: worker.Options = field(default_factory=worker.Options)


class Watcher(Protocol):
    """Receives the events of a job."""

    def say(self, text: str) -> None:
        """Reports a line about the job."""

    def expect(self, captures: int, size: int) -> None:
        """Reports that more captures were found."""

    def done(self, outcome: Outcome) -> None:
        """Reports that a call has ended."""


# --- Earlier runs ---


class Done:
    """The captures of earlier runs: which of them need not be read again, and which row of a
    capture is the last."""

    def __init__(self) -> None:
        # By the hash of a capture's name: the hash of its last row (None: must be read again).
        self._keys: dict[int, int | None] = {}
        # For each capture with several rows, the part with the last row (None: this run writes it).
        self.last: dict[str, str | None] = {}

    def __len__(self) -> int:
        return sum(key is not None for key in self._keys.values())

    def add(self, rows: pyarrow.Table, part: str | None = None) -> None:
        """Adds the rows of a table, or of a part that was written after all rows added before."""
        times = rows["modified"].cast(pyarrow.int64())
        columns = [rows["file"], rows["size"], times, rows["digest"], rows["status"]]
        for name, size, modified, digest, status in zip(
            *(column.to_pylist() for column in columns), strict=True
        ):
            if part and hash(name) in self._keys:
                self.last[name] = part
            key = None if status in _AGAIN else hash((name, size, modified, digest))
            self._keys[hash(name)] = key

    def has(self, capture: Capture) -> bool:
        """Checks whether a capture was done and has not changed. If not, marks its rows to be
        replaced."""
        name = hash(capture.label)
        if name not in self._keys:
            return False
        known = _with_digest(capture)
        modified = tables.microseconds(known.modified_ns)
        if hash((known.label, known.size, modified, known.digest)) == self._keys[name]:
            return True
        self.last[capture.label] = None
        return False


def _with_digest(capture: Capture) -> Capture:
    try:
        return capture if capture.error else with_digest(capture)
    except OSError:
        return capture


def _earlier(folder: Store, present: Sequence[str], parts: Sequence[str]) -> Done:
    def read(path: str) -> pyarrow.Table:
        with folder.fs.open(path, "rb") as file:
            return pyarrow.parquet.read_table(file, columns=[*_KEY, "status"], use_threads=False)

    done = Done()
    paths = [*present, *(f"{part}.files.parquet" for part in parts)]
    with ThreadPoolExecutor(_READERS) as readers:  # stores answer slowly
        for part, rows in zip(
            [*[None] * len(present), *parts], readers.map(read, paths), strict=True
        ):
            done.add(rows, part)
    return done


def _tables(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path.endswith(".parquet")]


# --- The job ---


class Job:
    """One run of an audit over its sources."""

    def __init__(self, settings: Settings, watcher: Watcher) -> None:
        self.settings = settings
        self.watcher = watcher
        self.store = Store(absolute(settings.out))
        now = datetime.now(UTC)  # begins the attempt's name, so that names sort by time
        self.attempt = f"{now:%Y%m%dT%H%M%S.%f}-{os.urandom(4).hex()}"
        self.worst = tasks.CLEAN
        self.errors = 0
        self.passed_over = 0  # captures done by earlier runs
        self.engine_seconds = 0.0  # time until the engine had started
        self._parts: list[str] = []
        self._number = 0
        self._shared = tasks.Shared(
            self.store.url,
            self.attempt,
            settings.partition,
            settings.read,
            settings.split,
            settings.storage,
        )

    def run(self) -> None:
        """Runs the job. Raises AuditError if it cannot continue; finished parts are kept."""
        fsspec.config.conf.update(self.settings.storage)
        with store.lock(self.store):
            store.commit(self.store)
            self._check_settings()
            earlier = store.parts(self.store)
            present = _tables(self.store.files("files"))
            done = _earlier(self.store, present, earlier)
            if earlier:
                self.watcher.say(f"goes on: {len(done):,} captures were done before")
            waves = plan.waves(self._find_undone(done))
            first = next(waves, None)
            if first or earlier or not present:
                with self._engine():
                    for wave in chain([first or []], waves):
                        self._check(wave)
                    self._merge(earlier, done)
            if self.passed_over:
                self.watcher.say(f"{self.passed_over:,} captures are as they were")

    @contextmanager
    def _engine(self) -> Iterator[None]:
        began = time.monotonic()
        with engine.joined(self.settings.address, self.settings.threads):
            _check_workers()
            self.engine_seconds = time.monotonic() - began
            self.watcher.say(f"{engine.describe()}; Ray took {self.engine_seconds:.1f} s to start")
            yield

    def _check_settings(self) -> None:
        """Checks that earlier runs made the tables of this folder with the same settings."""
        own = {
            "version": tables.VERSION,
            "findings": self.settings.read.findings,
            "partition": self.settings.partition,
        }
        held = self.store.read_json(OWN, "audit.json")
        if held is None:
            if self.store.files():
                self._refuse_other_files()
            self.store.write_json(own, OWN, "audit.json")
            return
        for name, value in own.items():
            if held.get(name) != value:
                raise AuditError(
                    f"{self.store.url} was made with {name} {held.get(name)}, not {value}: "
                    "give the same, or another folder"
                )

    def _refuse_other_files(self) -> None:
        others = [p for p in self.store.files() if not p.endswith(f"/{OWN}/lock.json")]
        if others:
            raise AuditError(f"{self.store.url} holds other files: give an empty or a new folder")

    def _find_undone(self, done: Done) -> Iterator[Capture]:
        for capture in find(self.settings.sources):
            if self.store.holds(capture.name):
                continue
            if done.has(capture):
                self.passed_over += 1
            else:
                yield capture

    # --- Checking ---

    def _check(self, wave: list[Capture]) -> None:
        self.watcher.expect(len(wave), sum(capture.size or 0 for capture in wave))
        rest = self._check_pieces(wave)
        calls = [Batch(self._next_part(), b) for b in plan.batches(rest, engine.cores())]
        while calls:
            results = engine.run(tasks.check, calls, self._shared)
            finished = set()
            for index, outcome in results:
                finished.add(index)
                self._record_outcome(outcome)
            calls = self._repeat_lost([c for i, c in enumerate(calls) if i not in finished])

    def _check_pieces(self, wave: list[Capture]) -> list[Capture]:
        """Checks large captures in pieces. Returns the other captures, to be read by one worker
        each."""
        least = self.settings.split
        large = [capture for capture in wave if least and (capture.size or 0) >= least]
        plans = [made for _, made in engine.run(pieces.plan, large, self._shared)]
        gathered = {
            capture.name: pieces.Gathered(capture, len(parts)) for capture, parts in plans if parts
        }
        done: set[str] = set()
        calls = pieces.planned(plans)
        for index, (result, seconds) in engine.run(pieces.check, calls, self._shared):
            capture = gathered[calls[index].capture.name]
            capture.add(result, seconds)
            if capture.is_whole and self._write_pieces(capture):
                done.add(capture.capture.name)
        return [capture for capture in wave if capture.name not in done]

    def _write_pieces(self, capture: pieces.Gathered) -> bool:
        rows = capture.rows(self.settings.read.findings)
        capture.results = []
        if rows:
            self._record_outcome(
                tasks.write(self._next_part(), self._shared, [(capture.capture, rows)])
            )
        return rows is not None

    def _next_part(self) -> str:
        self._number += 1
        return f"{self._number:08}"

    def _record_outcome(self, outcome: Outcome) -> None:
        if outcome.problem:
            raise AuditError(f"{without_secrets(self.store.url)}: {outcome.problem}")
        part = self.store.path(OWN, "parts", self.attempt, outcome.part)
        if self.store.is_local and not os.path.exists(f"{part}.files.parquet"):
            raise AuditError(
                f"{self.store.url}: the workers wrote elsewhere: "
                "a cluster needs a folder that all its machines share, or a store"
            )
        self._parts.append(part)
        self.worst = max(self.worst, outcome.worst)
        self.errors += outcome.failed
        self.watcher.done(outcome)
        limit = self.settings.max_errors
        if limit is not None and self.errors > limit:
            raise AuditError(
                f"{self.errors:,} captures could not be read, more than {limit:,} (--max-errors); "
                "what was done is kept: run the same command to go on"
            )

    def _repeat_lost(self, lost: list[Batch]) -> list[Batch]:
        """Returns new calls for the captures of calls without a result, one for each capture. Gives
        up on a capture that has ended its worker _TRIES times."""
        calls = []
        for batch in lost:
            for table in tables.NAMES:
                self.store.remove(OWN, "parts", self.attempt, f"{batch.part}.{table}.parquet")
            if len(batch.captures) > 1:
                calls += [Batch(self._next_part(), (capture,)) for capture in batch.captures]
            elif batch.tries + 1 < _TRIES:
                calls.append(replace(batch, part=self._next_part(), tries=batch.tries + 1))
            else:
                self._give_up(batch.captures[0])
        return calls

    def _give_up(self, capture: Capture) -> None:
        reason = "the worker ended, each time that it read this capture"
        rows = worker.unread(capture, "failed", reason)
        self._record_outcome(tasks.write(self._next_part(), self._shared, [(capture, rows)]))

    # --- Committing ---

    @staticmethod
    def _run_calls(
        function: Callable[[Any, Any], Any], calls: Sequence[Any], shared: object
    ) -> Iterator[tuple[int, Any]]:
        """Makes calls with engine.run(), or in this process if there is only one file for each
        table: that is faster."""
        if len(calls) > len(tables.NAMES):
            return engine.run(function, calls, shared)
        return ((index, function(call, shared)) for index, call in enumerate(calls))

    def _merge(self, earlier: Sequence[str], done: Done) -> None:
        self.watcher.say("writes the tables")
        self.store.remove(OWN, "next")
        shared = merge.Shared(self.store.url, self.settings.partition, done.last)
        calls: list[Any] = []
        sizes = self.store.sizes(OWN, "parts")
        for table in tables.NAMES:
            ending = f".{table}.parquet"
            present = self.store.sizes(table)
            old = [*_tables(present), *(part + ending for part in earlier)]
            new = [part + ending for part in self._parts]
            calls += merge.plan(sizes | present, table, old, new)
        for _ in range(_TRIES + 1):
            finished = {index for index, _ in self._run_calls(merge.run, calls, shared)}
            calls = [call for i, call in enumerate(calls) if i not in finished]
            if not calls:
                break
        else:
            raise AuditError(f"{self.store.url}: the tables could not be written: see --verbose")
        for table in tables.NAMES:
            if not self.store.files(OWN, "next", table):
                merge.write_empty(self.store, table, self.settings.partition)
        store.prepare(self.store)
        store.commit(self.store)


def run(settings: Settings, watcher: Watcher) -> int:
    """Runs Job.run(); returns the worst status of the captures read. Raises AuditError if the job
    cannot continue."""
    job = Job(settings, watcher)
    job.run()
    return job.worst


def absolute(out: str) -> str:
    return out if "://" in out else os.path.abspath(out)


def _check_workers() -> None:
    """Checks that workers have this version of the package."""
    try:
        versions = engine.call_workers(_version)
    except Exception as error:
        raise AuditError(f"the cluster's workers cannot use libcarry: {error}") from error
    if versions != {_carry.__version__}:
        found = ", ".join(sorted(versions))
        raise AuditError(f"the cluster's workers have libcarry {found}, not {_carry.__version__}")


def _version() -> str:
    return _carry.__version__
