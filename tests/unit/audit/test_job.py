# SPDX-License-Identifier: MIT
"""Jobs over archives: no row is lost or duplicated, even if processes end early."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from conftest import ARCHIVE, NO_CAPTURE, pcap, write_files
from servers import Served, web

pytest.importorskip("ray", reason="ray is not installed")
pytest.importorskip("fsspec", reason="fsspec is not installed")

import pyarrow.dataset
import ray
from libcarry.audit import engine, job, merge, store, tables, tasks, worker
from libcarry.audit.job import Job, Settings
from libcarry.audit.listing import Capture
from libcarry.audit.store import AuditError, Store
from libcarry.audit.tasks import Batch, Outcome

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

READ = worker.Options(retries=1, backoff=0.01)
# Columns that differ from run to run.
OWN = ("read_seconds", "attempts")


class Watcher:
    """Keeps the messages of a job."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.outcomes: list[Outcome] = []
        self.expected: list[int] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def expect(self, captures: int, size: int) -> None:
        self.expected.append(captures)

    def done(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


@pytest.fixture(scope="module", autouse=True)
def cluster(s3: object) -> Iterator[None]:
    """Starts one engine for all jobs of this file. Its workers have access to the store."""
    with engine.joined(None, 2):
        yield


def run(out: Path | str, *sources: Path | str, **settings: Any) -> Job:  # noqa: ANN401
    watcher = settings.pop("watcher", None) or Watcher()
    done = Job(
        Settings(sources=[*map(str, sources)], out=str(out), **{"read": READ} | settings), watcher
    )
    done.run()
    return done


def rows(out: Path | str, table: str) -> list[dict[str, Any]]:
    """Returns the rows of a table, in order, without the columns that differ between runs."""
    target = Store(str(out))
    files = [path for path in target.files(table) if path.endswith(".parquet")]
    read = pyarrow.dataset.dataset(
        files, filesystem=target.fs, partitioning="hive", format="parquet"
    ).to_table()
    kept = [name for name in read.column_names if name not in OWN]
    return sorted(read.select(kept).to_pylist(), key=repr)


def all_rows(out: Path | str) -> dict[str, list[dict[str, Any]]]:
    return {name: rows(out, name) for name in tables.NAMES}


def names(out: Path | str) -> list[str]:
    return [row["file"] for row in rows(out, "files")]


def expected(root: Path) -> dict[str, list[dict[str, Any]]]:
    """Returns the rows that one worker finds in all captures, without an engine."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in tables.NAMES}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        for name, table in worker.check(Capture(str(path)), READ).items():
            found[name] += table.drop_columns(OWN if name == "files" else []).to_pylist()
    return {name: sorted(table, key=repr) for name, table in found.items()}


# --- Tables ---


def test_tables_have_what_a_check_finds(archive: Path, tmp_path: Path) -> None:
    done = run(tmp_path / "out", archive)
    assert all_rows(tmp_path / "out") == expected(archive)
    assert done.worst == tasks.DAMAGED
    assert sorted(os.listdir(tmp_path / "out")) == ["_audit", "counts", "files", "findings"]
    assert os.listdir(tmp_path / "out/_audit") == ["audit.json"]


def test_a_table_without_rows_is_a_table(tmp_path: Path) -> None:
    write_files(tmp_path / "captures", {"good.pcap": pcap("good")})
    done = run(tmp_path / "out", tmp_path / "captures")
    assert done.worst == tasks.CLEAN
    assert rows(tmp_path / "out", "findings") == []
    schema = pyarrow.dataset.dataset(tmp_path / "out/findings").schema
    assert schema.equals(tables.schema("findings"))


@pytest.mark.parametrize("partition", ["day", "folder"])
def test_partitions(archive: Path, tmp_path: Path, partition: str) -> None:
    """Partitioned tables contain the same rows as tables without partitions."""
    run(tmp_path / "out", archive, partition=partition)
    whole = expected(archive)
    for name in tables.NAMES:
        found = rows(tmp_path / "out", name)
        assert all(row[partition] for row in found)
        kept = [{k: v for k, v in row.items() if k in whole[name][0]} for row in found]
        assert sorted(kept, key=repr) == whole[name]
    folders = {path.name for path in (tmp_path / "out/files").iterdir()}
    assert len(folders) > 1
    assert all(folder.startswith(f"{partition}=") for folder in folders)
    # Runs again, with the partitions of the first run among the merged ones.
    write_files(tmp_path / "more", {"good.pcap": pcap("good")})
    run(tmp_path / "out", tmp_path / "more", partition=partition)
    assert len(rows(tmp_path / "out", "files")) == len(whole["files"]) + 1


def test_partitions_of_folders_with_long_names(tmp_path: Path) -> None:
    long = "/".join(["x" * 60] * 4)
    write_files(tmp_path / "captures", {f"{long}/a.pcap": pcap("bad"), "b.pcap": pcap("bad")})
    run(tmp_path / "out", tmp_path / "captures", partition="folder")
    assert len(rows(tmp_path / "out", "findings")) == 2
    names = {path.name for path in (tmp_path / "out/files").iterdir()}
    assert {row["folder"] for row in rows(tmp_path / "out", "files")} == {
        unquote(name.removeprefix("folder=")) for name in names
    }
    assert any(re.fullmatch(r"folder=[0-9a-f]{16}-x{16}", name) for name in names)


def test_a_store_is_a_source_and_a_target(bucket: str, archive: Path) -> None:
    out = bucket + "/_tables/out"
    run(out, f"{bucket}/lan", f"{bucket}/wan")
    found = all_rows(out)
    by_name = {row["file"]: row for row in found["files"]}
    assert set(by_name) == {f"{bucket}/{name}" for name in ARCHIVE}
    local = {row["file"]: row for row in expected(archive)["files"]}
    for name in ARCHIVE:
        mine, theirs = by_name[f"{bucket}/{name}"], local[str(archive / name)]
        for column in ("size", "packets", "bytes", "status", "findings", "first_time"):
            assert mine[column] == theirs[column]
        assert mine["digest"]
        assert mine["modified"]
    again = run(out, f"{bucket}/lan", f"{bucket}/wan")
    assert again.passed_over == len(ARCHIVE)
    assert all_rows(out) == found


def test_tables_are_no_captures(tmp_path: Path) -> None:
    """Tables that are written among the captures are not read as captures."""
    captures = tmp_path / "captures"
    paths = write_files(captures, {"a.pcap": pcap("bad"), "audited/b.pcap": pcap("bad")})
    (tmp_path / "link").symlink_to("captures")
    for source in (captures, captures, tmp_path / "link"):
        run(captures / "audit", source)
    links = [str(tmp_path / "link" / path.relative_to(captures)) for path in paths]
    assert names(captures / "audit") == [*map(str, paths), *links]


# --- Continuing ---


def test_finished_captures_are_skipped(archive: Path, tmp_path: Path) -> None:
    run(tmp_path / "out", archive)
    before = all_rows(tmp_path / "out")
    again = run(tmp_path / "out", archive)
    assert again.passed_over == len(ARCHIVE)
    assert isinstance(again.watcher, Watcher)
    assert again.watcher.expected == []
    assert all_rows(tmp_path / "out") == before


def test_rows_of_a_capture_that_changed_are_replaced(tmp_path: Path) -> None:
    captures = tmp_path / "captures"
    write_files(captures, {"a.pcap": pcap("bad"), "b.pcap": pcap("bad", "bad")})
    run(tmp_path / "out", captures)
    (captures / "a.pcap").write_bytes(pcap("bad", "good", "bad"))
    again = run(tmp_path / "out", captures)
    assert again.passed_over == 1
    assert all_rows(tmp_path / "out") == expected(captures)


def test_the_last_rows_of_a_capture_count(tmp_path: Path) -> None:
    """The rows of the last run count, even after a run that ended early."""
    captures = tmp_path / "captures"
    write_files(captures, {"a.pcap": pcap("bad"), "b.pcap": pcap("bad", "bad")})
    run(tmp_path / "out", captures)
    for sums in (["bad", "good"], ["good"], ["bad", "bad", "bad"]):
        (captures / "a.pcap").write_bytes(pcap(*sums))
        with pytest.raises(AuditError, match="1 captures could not be read"):
            run(tmp_path / "out", captures, tmp_path / "missing.pcap", max_errors=0)
    assert run(tmp_path / "out", captures).passed_over == 2
    found = all_rows(tmp_path / "out")
    missing = str(tmp_path / "missing.pcap")
    assert [row["file"] for row in found["files"] if row["status"] == "failed"] == [missing]
    found["files"] = [row for row in found["files"] if row["file"] != missing]
    assert found == expected(captures)


def test_partitions_are_below_the_folder_alone(tmp_path: Path) -> None:
    """Partition folders are those below the output folder, whatever its own name is."""
    out, captures = tmp_path / "day=2020-02-02/out", tmp_path / "captures"
    write_files(captures, {"a.pcap": pcap("bad"), "b.pcap": pcap("bad", first=1_800_000_000)})
    with pytest.raises(AuditError):
        run(out, captures, tmp_path / "missing.pcap", partition="day", max_errors=0)
    for more in ("c.pcap", "d.pcap"):
        write_files(captures, {more: pcap("bad")})
        run(out, captures, partition="day")
    days = [path.parent.name for path in sorted(out.glob("findings/*/*"))]
    assert days == ["day=2023-11-14", "day=2027-01-15"]
    assert len(all_rows(out)["findings"]) == 4


def test_a_change_that_keeps_size_and_time_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "captures/a.pcap"
    write_files(path.parent, {path.name: pcap("bad", "good")})
    run(tmp_path / "out", path)
    status = path.stat()
    path.write_bytes(pcap("good", "bad"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert run(tmp_path / "out", path).passed_over == 0
    assert all_rows(tmp_path / "out") == expected(path.parent)


def test_failed_captures_are_tried_again(tmp_path: Path) -> None:
    served = {"/a.pcap": Served(pcap("good"), fails=100), "/b.pcap": Served(pcap("bad"))}
    with web(served) as root:
        sources = [root + name for name in served]
        first = run(tmp_path / "out", *sources)
        assert (first.worst, first.errors) == (tasks.FAILED, 1)
        served["/a.pcap"].fails = 0
        again = run(tmp_path / "out", *sources)
    assert (again.passed_over, again.errors) == (1, 0)
    assert [row["status"] for row in rows(tmp_path / "out", "files")] == ["clean", "wrong"]


def test_too_many_errors_end_a_job_that_can_go_on(archive: Path, tmp_path: Path) -> None:
    missing = [tmp_path / f"missing{number}.pcap" for number in range(3)]
    with pytest.raises(AuditError, match=r"3 captures could not be read, more than 2"):
        run(tmp_path / "out", archive, *missing, max_errors=2)
    assert not (tmp_path / "out/files").exists()
    run(tmp_path / "out", archive, *missing, max_errors=3)
    assert len(names(tmp_path / "out")) == len(ARCHIVE) + 3


# --- Processes that end early ---


def ends(batch: Batch, shared: tasks.Shared) -> Outcome:
    """Runs tasks.check() in a worker. Some captures end the worker once, others each time."""
    for capture in batch.captures:
        once = Path(shared.storage["ends"]["once"])  # type: ignore[arg-type]
        if "always" in capture.name or ("once" in capture.name and not once.exists()):
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return tasks.check(batch, replace(shared, storage={}))


def test_a_worker_that_ends_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    captures = tmp_path / "captures"
    files = {f"{name}.pcap": pcap("bad") for name in ("a", "always", "b", "once", "z")}
    write_files(captures, files)
    monkeypatch.setattr(tasks, "check", ends)
    storage = {"ends": {"once": str(tmp_path / "once")}}
    done = run(tmp_path / "out", captures, storage=storage)
    assert done.worst == tasks.FAILED
    found = {Path(row["file"]).stem: row for row in rows(tmp_path / "out", "files")}
    assert sorted(found) == ["a", "always", "b", "once", "z"]
    assert found.pop("always")["error"] == "the worker ended, each time that it read this capture"
    assert {row["status"] for row in found.values()} == {"wrong"}
    assert len(rows(tmp_path / "out", "findings")) == 4


def full(batch: Batch, shared: tasks.Shared) -> Outcome:
    """Runs tasks.check() where nothing can be written."""

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "part_writer", fail)
        return original(batch, shared)


original = tasks.check


def test_a_full_disk_ends_a_job_that_can_go_on(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "check", full)
    with pytest.raises(AuditError, match=r"/out: No space left on device$"):
        run(tmp_path / "out", archive)
    monkeypatch.undo()
    run(tmp_path / "out", archive)
    assert all_rows(tmp_path / "out") == expected(archive)


def test_a_driver_that_is_killed_goes_on(tmp_path: Path, archive: Path) -> None:
    data = pcap("bad", "good")
    served = {f"/{number:02}.pcap": Served(data, delay=0.05) for number in range(40)}
    served["/slow.pcap"] = Served(data + data[24:], delay=60)
    out = tmp_path / "out"
    with web(served) as root:
        sources = [root + name for name in sorted(served)]
        command = [sys.executable, "-m", "libcarry.audit", f"--out={out}", "-j1", *sources]
        first = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        wait_for(lambda: served["/slow.pcap"].answers > 0)
        first.kill()
        first.wait()
        assert not (out / "files").exists()
        served["/slow.pcap"].delay = 0
        done = run(out, *sources)
    assert names(out) == sorted(sources)
    assert len(rows(out, "findings")) == 42
    assert done.passed_over < len(sources)


def wait_for(condition: Any) -> None:  # noqa: ANN401
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_a_lock_keeps_others_out(archive: Path, tmp_path: Path) -> None:
    out = Store(str(tmp_path / "out"))
    out.write_json({"host": "elsewhere", "pid": 1, "since": 0}, "_audit", "lock.json")
    with pytest.raises(AuditError, match=r"another job writes here \(process 1 on elsewhere\)"):
        run(tmp_path / "out", archive)
    gone = subprocess.Popen(["true"])
    gone.wait()
    own = {"host": os.uname().nodename, "pid": gone.pid, "since": 0}
    out.write_json(own, "_audit", "lock.json")
    run(tmp_path / "out", archive)
    assert not out.exists("_audit", "lock.json")


def test_a_lock_of_its_own_number_is_old(tmp_path: Path) -> None:
    """A lock with the process ID of this process is old: in a container, each start may have the
    same ID."""
    out = Store(str(tmp_path / "out"))
    own = {"host": os.uname().nodename, "pid": os.getpid(), "since": 0}
    out.write_json(own, "_audit", "lock.json")
    with store.lock(out):
        assert out.exists("_audit", "lock.json")
    assert os.listdir(tmp_path / "out/_audit") == []


@pytest.mark.parametrize("kind", ["disk", "store"])
def test_one_of_two_jobs_that_see_no_lock_gets_it(bucket: str, tmp_path: Path, kind: str) -> None:
    out = Store(str(tmp_path / "out") if kind == "disk" else f"{bucket}/_locks/out")
    with store.lock(out), pytest.MonkeyPatch.context() as patch:
        looks = iter([False, True])  # no lock before the other job writes; its lock after that
        patch.setattr(Store, "read_json", lambda *_: None)
        patch.setattr(Store, "exists", lambda *_: next(looks))
        with pytest.raises(AuditError, match="another job writes here"), store.lock(out):
            pass
    assert not out.exists("_audit", "lock.json")


def test_a_part_that_is_not_whole_is_no_part(bucket: str) -> None:
    out = Store(f"{bucket}/_parts/out")
    rows = worker.unread(Capture("x"), "failed", "as a test")
    with pytest.raises(KeyError), store.part_writer(out, "attempt", "1", None) as writer:
        writer.add(rows)
        raise KeyError
    assert out.files() == []


def test_tables_of_a_folder_are_made_alike(archive: Path, tmp_path: Path) -> None:
    run(tmp_path / "out", archive)
    with pytest.raises(AuditError, match="was made with partition None, not day"):
        run(tmp_path / "out", archive, partition="day")
    with pytest.raises(AuditError, match="was made with findings 1000, not 7"):
        run(tmp_path / "out", archive, read=replace(READ, findings=7))


def test_a_folder_with_other_files_stays_as_it_is(archive: Path, tmp_path: Path) -> None:
    write_files(tmp_path, {"out/precious": b"mine"})
    with pytest.raises(AuditError, match="holds other files"):
        run(tmp_path / "out", archive)
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["precious"]


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_a_commit_that_ends_early_is_completed(archive: Path, tmp_path: Path, done: int) -> None:
    """A commit that ended early, after any of its steps, is completed by the next one."""
    captures = tmp_path / "captures"
    shutil.copytree(archive, captures)
    out = tmp_path / "out"
    run(out, captures)
    write_files(captures, {"more.pcap": pcap("bad")})
    target = Store(str(out))
    with pytest.MonkeyPatch.context() as patch:
        replaced: list[str] = []

        def replace_some(self: Store, source: str, place: str) -> None:
            if len(replaced) == done:
                raise KeyboardInterrupt
            replaced.append(place)
            original(self, source, place)

        original = Store.replace
        patch.setattr(Store, "replace", replace_some)
        if done < len(tables.NAMES):
            with pytest.raises(KeyboardInterrupt):
                run(out, captures)
        else:
            run(out, captures)
    store.commit(target)
    assert all_rows(out) == expected(captures)
    assert os.listdir(out / "_audit") == ["audit.json"]


def test_workers_stay_small(tmp_path: Path) -> None:
    """Workers stay below 256 MiB even with captures that are larger than this."""
    big = tmp_path / "captures/big.pcap"
    big.parent.mkdir()
    head, record = pcap("bad")[:24], pcap("bad")[24:]
    with big.open("wb") as file:
        file.write(head)
        block = record * 10_000
        while file.tell() < 320 << 20:
            file.write(block)
    served = {"/big.pcap": Served(big.read_bytes())}
    with web(served) as root:
        done = run(tmp_path / "out", big, root + "/big.pcap")
    assert isinstance(done.watcher, Watcher)
    peak = max(outcome.peak for outcome in done.watcher.outcomes)
    assert peak < 256 << 20, f"{peak >> 20} MiB"


def test_no_capture_counts_if_it_has_the_name_of_one(tmp_path: Path) -> None:
    write_files(tmp_path / "captures", {**NO_CAPTURE, "good.pcap": pcap("good")})
    assert run(tmp_path / "a", tmp_path / "captures").worst == tasks.CLEAN
    write_files(tmp_path / "captures", {"bad.pcap.gz": b"no capture"})
    assert run(tmp_path / "b", tmp_path / "captures").worst == tasks.DAMAGED
    assert run(tmp_path / "c", tmp_path / "captures" / next(iter(NO_CAPTURE))).worst == (
        tasks.DAMAGED
    )


def test_merges_are_of_about_equal_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "_FILES", 3)
    paths = [str(number) for number in range(7)]
    calls = list(merge.plan(dict.fromkeys(paths, 1), "files", paths[:2], paths[2:]))
    assert [(len(call.earlier), len(call.parts)) for call in calls] == [(2, 1), (0, 3), (0, 1)]
    assert [call.number for call in calls] == [0, 1, 2]
    assert job._TRIES == 2
