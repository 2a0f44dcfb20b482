# SPDX-License-Identifier: MIT
"""A simulated cluster of four machines, each with its own object store."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import pcap
from servers import Served, web

pytest.importorskip("ray", reason="ray is not installed")

import ray
from libcarry.audit import engine, plan, tasks
from libcarry.audit.tasks import Batch, Outcome
from ray.cluster_utils import Cluster
from test_job import Watcher, all_rows, run, wait_for

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

MACHINES = 4
CAPTURES = 48
STORE_BYTES = 80 << 20


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Yields a cluster of four workers and the driver's machine, which runs no tasks."""
    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE_BYTES}
    )
    try:
        for _ in range(MACHINES):
            made.add_node(num_cpus=1, object_store_memory=STORE_BYTES)
        with engine.joined(made.address):
            yield made
    finally:
        made.shutdown()


def noted(batch: Batch, shared: tasks.Shared) -> Outcome:
    """Records this machine, and runs tasks.check() once all machines are recorded."""
    folder = Path(str(shared.storage["notes"]["folder"]))
    (folder / ray.get_runtime_context().get_node_id()).touch()
    wait_for(lambda: len(os.listdir(folder)) >= MACHINES)
    return tasks.check(batch, replace(shared, storage={}))


class Killer(Watcher):
    """Ends two machines once a quarter of the captures has been checked."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.cluster = cluster
        self.killed = 0

    def done(self, outcome: Outcome) -> None:
        super().done(outcome)
        if sum(each.captures for each in self.outcomes) >= CAPTURES // 4 and not self.killed:
            for node in list(self.cluster.worker_nodes)[:2]:
                self.cluster.remove_node(node, allow_graceful=False)
                self.killed += 1


def test_work_is_spread_and_two_machines_that_end_change_no_row(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_BATCH_BYTES", (1, 1 << 30))
    monkeypatch.setattr(plan, "_PART_OF_REST", 4)
    monkeypatch.setattr(tasks, "check", noted)
    data = [pcap("bad", *["good"] * number) for number in range(CAPTURES)]
    served: dict[str, Any] = {
        f"/{number:02}.pcap": Served(each, delay=0.2) for number, each in enumerate(data)
    }
    (tmp_path / "notes").mkdir()
    storage: dict[str, Any] = {"notes": {"folder": str(tmp_path / "notes")}}
    with web(served) as root:
        sources = [root + name for name in served]
        killer = Killer(cluster)
        run(tmp_path / "killed", *sources, storage=storage, watcher=killer)
        for each in served.values():
            each.delay = 0
        run(tmp_path / "calm", *sources, storage=storage)
    assert killer.killed == 2
    assert len(os.listdir(tmp_path / "notes")) == MACHINES
    found = all_rows(tmp_path / "killed")
    assert len(found["files"]) == CAPTURES
    assert found == all_rows(tmp_path / "calm")
