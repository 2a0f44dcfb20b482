# SPDX-License-Identifier: MIT
"""Runs a job on a cluster that is reached through Ray's client (ray://). Ray Data does not run
through that client, so the whole job runs on the cluster and reports its progress to this
process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ray

from . import engine
from .job import Job, Settings, Watcher
from .store import AuditError
from .tasks import Outcome

SCHEME = "ray://"
_LOOK_SECONDS = 0.5


class _Events:
    """Holds the events of a job until they are passed on. It is an actor of Ray: the job adds
    events, and this process takes them."""

    def __init__(self) -> None:
        self._events: list[tuple[str, tuple[Any, ...]]] = []

    def add(self, name: str, *words: object) -> None:
        self._events.append((name, words))

    def take(self) -> list[tuple[str, tuple[Any, ...]]]:
        events, self._events = self._events, []
        return events


class _Relay:
    """A watcher of a job that passes every event on."""

    def __init__(self, events: Any) -> None:  # noqa: ANN401
        self._events = events

    def say(self, text: str) -> None:
        self._events.add.remote("say", text)

    def expect(self, captures: int, size: int) -> None:
        self._events.add.remote("expect", captures, size)

    def done(self, outcome: Outcome) -> None:
        self._events.add.remote("done", outcome)


def _run(settings: Settings, events: Any) -> tuple[int, str | None]:  # noqa: ANN401
    """Runs the job on the cluster; returns the worst status, and the reason if it ended early."""
    job = Job(settings, _Relay(events))
    try:
        job.run()
    except (AuditError, OSError) as error:
        return job.worst, str(error)
    return job.worst, None


def _pass_on(events: Any, watcher: Watcher) -> None:  # noqa: ANN401
    for name, words in ray.get(events.take.remote()):
        getattr(watcher, name)(*words)


def run(settings: Settings, watcher: Watcher) -> int:
    """Runs Job.run() on the cluster; returns the worst status. Raises AuditError if the job cannot
    continue."""
    with engine.joined(settings.address):
        events = ray.remote(_Events).options(num_cpus=0).remote()
        there = replace(settings, address=None)
        job = ray.remote(_run).options(num_cpus=0, max_retries=0).remote(there, events)
        while not ray.wait([job], timeout=_LOOK_SECONDS)[0]:
            _pass_on(events, watcher)
        worst, problem = ray.get(job)
        _pass_on(events, watcher)
    if problem:
        raise AuditError(problem)
    return int(worst)
