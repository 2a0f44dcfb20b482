# SPDX-License-Identifier: MIT
"""Calls one function on any number of machines, by Ray Data."""

from __future__ import annotations

import logging
import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

import pyarrow
import ray

# The index of a call, and its result.
_SCHEMA = pyarrow.schema([("call", pyarrow.int64()), ("result", pyarrow.binary())])
# How often the engine repeats a call whose worker or machine ended. After that, the audit repeats
# the captures of the call one by one.
_RETRIES = 2
_ASKS = 10
_ASK_SECONDS = 0.2


@contextmanager
def joined(address: str | None, threads: int | None = None) -> Iterator[None]:
    """Uses a cluster for a `with` block: the cluster that this process has joined already, else the
    cluster at `address` or RAY_ADDRESS, else a new cluster on this machine."""
    owns = not ray.is_initialized()
    address = address or os.environ.get("RAY_ADDRESS")
    if owns:
        cpus = None if address else threads
        ray.init(
            address=address or "local",
            num_cpus=cpus,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    try:
        yield
    finally:
        if owns:
            ray.shutdown()


@contextmanager
def quiet(is_quiet: bool) -> Iterator[TextIO]:
    """Discards what is written to standard error during a `with` block, if `is_quiet`: the engine
    prints messages about workers that end, and the audit reports their captures. Yields the stream
    of standard error."""
    stream = sys.stderr
    if not is_quiet:
        yield stream
        return
    with open(os.devnull, "w") as nothing:
        sys.stderr = nothing
        try:
            yield stream
        finally:
            sys.stderr = stream


def describe() -> str:
    """Returns the number of machines and cores as text."""
    nodes = sum(node["Alive"] for node in ray.nodes())
    return f"{nodes} machine{'s' * (nodes != 1)}, {cores()} core{'s' * (cores() != 1)}"


def cores() -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _call_and_wait(function: Callable[[], Any]) -> tuple[Any, int]:
    import ray.data  # noqa: F401  as calls need it

    time.sleep(_ASK_SECONDS)  # gives other workers time to start
    return function(), os.getpid()


def call_workers(function: Callable[[], Any]) -> set[Any]:
    """Calls a function in workers: in all workers of this machine once they have started, or in
    some workers of a cluster. Returns the set of results. Raises what the function raises."""
    remote = ray.remote(_call_and_wait).options(num_cpus=1, max_retries=_RETRIES)
    wanted = min(cores(), os.cpu_count() or 1)
    answers: set[Any] = set()
    workers: set[int] = set()
    for _ in range(_ASKS):
        for answer, worker in ray.get([remote.remote(function) for _ in range(wanted)]):
            answers.add(answer)
            workers.add(worker)
        if len(workers) >= wanted:
            break
    return answers


def _configure() -> None:
    """Lets Ray run the other blocks after a block failed: the audit repeats calls without a
    result."""
    context = ray.data.DataContext.get_current()
    context.max_errored_blocks = -1
    context.enable_progress_bars = False
    context.enable_operator_progress_bars = False
    context.execution_options.preserve_order = False
    context.print_on_execution_start = False
    context.op_resource_reservation_enabled = False  # there are no other operators
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)


def run(
    function: Callable[..., Any], calls: Sequence[Any], shared: object
) -> Iterator[tuple[int, Any]]:
    """Calls function(call, shared) for each of `calls`, in about their order, on all cores. Yields
    the index and the result of each call when it ends. Yields nothing for a call that raises, or
    repeatedly ends its worker."""
    if not calls:
        return
    _configure()
    common = ray.put(shared)

    def apply(block: pyarrow.Table) -> pyarrow.Table:
        own = ray.get(common)
        indices = block["call"].to_pylist()
        results = [
            pickle.dumps(function(pickle.loads(c), own)) for c in block["result"].to_pylist()
        ]
        return pyarrow.table({"call": indices, "result": results}, _SCHEMA)

    items = [{"call": i, "result": pickle.dumps(c)} for i, c in enumerate(calls)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray may get a parameter max_retries of its own
        results = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
            apply,
            batch_size=None,
            batch_format="pyarrow",
            num_cpus=1,
            zero_copy_batch=True,
            ray_remote_args_fn=lambda: {"max_retries": _RETRIES},
        )
    for batch in results.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        for index, result in zip(
            batch["call"].to_pylist(), batch["result"].to_pylist(), strict=True
        ):
            yield index, pickle.loads(result)
