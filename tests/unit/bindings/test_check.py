# SPDX-License-Identifier: MIT
"""Reports on captures equal the reports of the command, for any kind of source."""

from __future__ import annotations

import gzip
import io
import mmap
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import captures
import libcarry
import pytest
from conftest import EXAMPLES, SOURCE, Script, corpus, fragments, many
from libcarry import _carry

pytestmark = pytest.mark.sanitized

BROKEN = SOURCE / "examples/broken.pcap"
OFFLOAD = SOURCE / "examples/offload.pcapng"

ToolJson = Callable[..., dict[str, Any]]


def without_name(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if not key.startswith("file")}


# --- Agreement with the command ---


@pytest.mark.parametrize("path", [*EXAMPLES, *corpus()], ids=lambda path: path.name)
def test_report_is_that_of_the_command(path: Path, tool: str, tool_json: ToolJson) -> None:
    report = libcarry.check(path, on_damage="report", max_findings=10)
    assert report.to_dict() == tool_json("check", "--json", path)
    said = subprocess.run([tool, "check", path], capture_output=True, text=True, timeout=300)
    assert str(report) == said.stdout.replace(": --bad-only lists them all", "")


def test_in_short() -> None:
    """A report contains the status, counts, senders and findings of its capture."""
    report = libcarry.check(BROKEN)
    assert (report.ok, report.status, report.packets, report.bytes) == (False, "wrong", 11, 839)
    assert report.outcome == "4 bad and 1 illegal checksums"
    assert report.counts["tcp"]["bad"] == 2
    assert report.senders["ip"]["bad"][0]["address"] == "10.0.0.9"
    assert (report.damage, report.name, len(report.findings)) == (None, str(BROKEN), 5)
    offload = libcarry.check(OFFLOAD)
    assert (offload.ok, offload.complete, offload.status) == (True, True, "clean")
    assert "illegal" in repr(report)


def test_notebooks_show_tables() -> None:
    page = libcarry.check(BROKEN.read_bytes(), name="<b>mine</b>")._repr_html_()
    assert "<b>&lt;b&gt;mine&lt;/b&gt;</b>: 4 bad and 1 illegal checksums" in page
    assert page.count("<table>") == 2


def test_findings() -> None:
    """Findings contain the packet, its addresses, the stored and the expected value."""
    findings = libcarry.check(BROKEN).findings
    first = findings[0]
    assert (first.frame_number, first.protocol, first.verdict) == (3, "tcp", "bad")
    assert (first.src_ip, first.src_port, first.dst_ip, first.dst_port) == (
        *("10.0.0.5", 40000),
        *("10.0.0.9", 80),
    )
    assert (first.stored, first.expected, first.file_offset) == (0xB57C, 0xA748, 295)
    assert first.frame_time == 1_700_000_000_200_000_000
    assert [f.frame_number for f in findings[1:]] == [5, 6, 9, 11]
    assert findings[-1].src_ip == "2001:db8::5"
    with pytest.raises(IndexError):
        findings[5]


def test_options(tool_json: ToolJson) -> None:
    """Options choose verdicts, protocols and limits; threads change nothing."""
    partial = libcarry.check(OFFLOAD, wrong=("bad", "illegal", "partial"))
    assert (partial.status, len(partial.findings)) == ("wrong", 4)
    assert not libcarry.check(OFFLOAD).findings
    assert libcarry.check(OFFLOAD, listed=["partial"]).findings[0].certain is not None
    tcp = libcarry.check(BROKEN, protocols=["tcp"])
    assert list(tcp.counts) == ["tcp"]
    some = libcarry.check(BROKEN, max_packets=3, max_findings=0)
    assert (some.packets, len(some.findings), some.findings.total) == (3, 0, 1)
    assert "first of 1" in repr(some.findings)
    for threads in (1, 2, 3):
        assert libcarry.check(BROKEN, threads=threads).to_dict() == tool_json(
            "check", "--json", BROKEN
        )


def test_options_of_the_walk() -> None:
    """Options on tunnels, UDP over IPv6 and fragments apply to checks and repairs."""
    inner = captures.packet(captures.UDP, sums="bad")
    tunnel = captures.pcap([captures.ethernet(captures.network("10.0.0.1", "10.0.0.2", 4, inner))])
    assert libcarry.check(tunnel).status == "wrong"
    assert libcarry.check(tunnel, tunnels=False).status == "clean"
    assert libcarry.fix(tunnel, None).changed_packets == 1
    assert libcarry.fix(tunnel, None, tunnels=False).changed_packets == 0
    no_sum = captures.packet(captures.UDP, src="::1", dst="::2", sums="none")
    udp6 = captures.pcap([captures.ethernet(no_sum)])
    assert libcarry.check(udp6).counts["udp"]["illegal"] == 1
    assert libcarry.check(udp6, udp6_zero_absent=True).counts["udp"]["absent"] == 1
    assert libcarry.fix(udp6, None, udp6_zero_absent=True).changed_packets == 0
    datagram = captures.pcap(fragments())
    assert libcarry.check(datagram).counts["udp"]["bad"] == 1
    assert libcarry.check(datagram, reassemble=False).reasons["udp"]["fragment"] == 1


# --- Sources ---


class Plain:
    """A file object that can only read, in pieces of odd sizes."""

    def __init__(self, data: bytes, most: int = 7) -> None:
        self.stream, self.most = io.BytesIO(data), most

    def read(self, size: int) -> bytes:
        return self.stream.read(min(size, self.most))


@pytest.mark.parametrize(
    "wrap",
    [
        str,
        lambda path: path,
        lambda path: path.read_bytes(),
        lambda path: bytearray(path.read_bytes()),
        lambda path: memoryview(path.read_bytes()),
        lambda path: io.BytesIO(path.read_bytes()),
        partial(open, mode="rb"),
        partial(open, mode="rb", buffering=0),
        lambda path: mmap.mmap(os.open(path, os.O_RDONLY), 0, access=mmap.ACCESS_READ),
        lambda path: io.BytesIO(gzip.compress(path.read_bytes())),
        lambda path: gzip.compress(path.read_bytes()),
        lambda path: gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(path.read_bytes()))),
        lambda path: Plain(path.read_bytes()),
    ],
    ids=[
        "str",
        "path",
        "bytes",
        "bytearray",
        "memoryview",
        "bytesio",
        "file",
        "raw",
        "mmap",
        "gz",
        "gzbytes",
        "gzipfile",
        "plain",
    ],
)
def test_sources(wrap: Callable[[Path], Any], tool_json: ToolJson) -> None:
    """Paths, bytes, files and other objects yield the same report as the command."""
    source = wrap(BROKEN)
    report = libcarry.check(source)
    assert without_name(report.to_dict()) == without_name(tool_json("check", "--json", BROKEN))
    if hasattr(source, "close"):
        source.close()


def test_file_object_is_read_from_its_position() -> None:
    with open(BROKEN, "rb") as file:
        data = io.BytesIO(b"before" + file.read())
    data.seek(6)
    assert libcarry.check(data).packets == 11


class NoWayBack(io.BytesIO):
    """An object that claims to be able to seek, like fsspec's streams by HTTP, but cannot."""

    def seek(self, offset: int, whence: int = 0) -> int:
        raise ValueError("cannot seek")


class Silent(io.BytesIO):
    """An object that does not return its position."""

    def seek(self, offset: int, whence: int = 0) -> None:  # type: ignore[override]
        super().seek(offset, whence)


@pytest.mark.parametrize("kind", [NoWayBack, Silent])
def test_file_objects_that_seek_badly(kind: type[io.BytesIO]) -> None:
    """Objects that cannot seek, or do not return their position, are read as pipes."""
    assert libcarry.check(kind(BROKEN.read_bytes())).packets == 11


def test_file_object_beyond_its_end() -> None:
    data = io.BytesIO(BROKEN.read_bytes())
    data.seek(5000)
    with pytest.raises(libcarry.NotACapture) as caught:
        libcarry.check(data)
    assert caught.value.report.table("files").columns
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    (row,) = caught.value.report.to_arrow("files").to_pylist()
    assert row["size"] is None


def test_pipe() -> None:
    """A pipe is read to its end."""
    reader, writer = os.pipe()
    thread = threading.Thread(
        target=lambda: (os.write(writer, BROKEN.read_bytes()), os.close(writer))
    )
    thread.start()
    with open(reader, "rb") as pipe:
        assert libcarry.check(pipe).packets == 11
    thread.join()


@pytest.mark.parametrize("buffering", [0, -1])
def test_pipe_that_does_not_block(buffering: int) -> None:
    """A pipe without data raises BlockingIOError: that is not the end of the capture."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    data = BROKEN.read_bytes()
    os.write(writer, data)
    with (
        open(reader, "rb", buffering=buffering) as pipe,
        pytest.raises(BlockingIOError, match="must wait"),
    ):
        libcarry.check(pipe)
    os.close(writer)


def test_urls() -> None:
    """A URL is opened by fsspec, and names the report."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    with fsspec.open("memory://captures/broken.pcap", "wb") as file:
        file.write(BROKEN.read_bytes())
    report = libcarry.check("memory://captures/broken.pcap")
    assert (report.packets, report.name) == (11, "memory://captures/broken.pcap")


def test_names() -> None:
    assert libcarry.check(BROKEN.read_bytes()).name == "<bytes>"
    with open(BROKEN, "rb") as file:
        assert libcarry.check(file).name == str(BROKEN)
        file.seek(0)
        assert libcarry.check(file, name="mine").name == "mine"


def test_name_that_is_no_utf8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.pcap"
    Path(os.fsdecode(path)).write_bytes(BROKEN.read_bytes())
    report = libcarry.check(os.fsdecode(path))
    assert (report.packets, report.name[-6:]) == (11, "\ufffd.pcap")
    with open(path, "rb") as file:
        assert libcarry.check(file).name == report.name
    assert libcarry.check(BROKEN, name=os.fsdecode(path)).name == report.name


# --- Failures ---


def test_damage(tmp_path: Path) -> None:
    """A damaged capture raises an error with its report, or the report contains the damage."""
    cut = BROKEN.read_bytes()[:500]
    with pytest.raises(libcarry.CaptureDamaged, match="damaged at offset 488: ") as caught:
        libcarry.check(cut)
    error = caught.value
    assert (error.offset, error.name) == (488, "<bytes>")
    assert error.reason and error.report.packets == 5
    assert len(error.report.findings) == 2
    report = libcarry.check(cut, on_damage="report")
    assert report.damage == libcarry.Damage(error.offset, error.reason)
    assert (report.status, report.ok, report.complete) == ("damaged", False, False)


def test_errors_are_pickled() -> None:
    """multiprocessing transfers exceptions without their reports."""
    for data in (BROKEN.read_bytes()[:500], b"no capture"):
        with pytest.raises(libcarry.CaptureError) as caught:
            libcarry.check(data)
        error = pickle.loads(pickle.dumps(caught.value))
        assert type(error) is type(caught.value)
        assert (str(error), vars(error)) == (
            str(caught.value),
            vars(caught.value) | {"report": None},
        )


def test_not_a_capture() -> None:
    """A file that is not a capture raises an error with its name."""
    with pytest.raises(libcarry.NotACapture, match=r"README.md: not a capture"):
        libcarry.check(SOURCE / "README.md")
    with pytest.raises(libcarry.CaptureError):
        libcarry.check(b"")


def test_system_errors(tmp_path: Path) -> None:
    """Errors of the system are raised as Python's own exceptions."""
    with pytest.raises(FileNotFoundError, match="missing"):
        libcarry.check(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        libcarry.check(tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"wrong": ["worst"]}, "no verdict"),
        ({"wrong": ["good"]}, "out of its range"),
        ({"wrong": []}, "no verdict is selected"),
        ({"listed": []}, "no verdict is selected"),
        ({"protocols": ["telnet"]}, "no protocol"),
        ({"protocols": []}, "no protocol is selected"),
        ({"threads": 257}, "threads must be from 0 to 256"),
        ({"threads": -1}, "threads must be"),
        ({"max_findings": -1}, "max_findings must be"),
        ({"max_findings": 1 << 40}, "max_findings must be"),
        ({"max_packets": 0}, "max_packets must be"),
        ({"max_packets": (1 << 64) + 1}, "max_packets must be"),
        ({"name": "a\0b"}, "embedded null"),
        ({"on_damage": "ignore"}, "on_damage must be"),
    ],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    """A wrong value of an option is refused with a reason."""
    with pytest.raises(ValueError, match=words):
        libcarry.check(BROKEN, **options)


def test_wrong_sources() -> None:
    """A file opened for text, and an object that cannot be read, raise TypeError."""
    with pytest.raises(TypeError, match="opened for text"), open(BROKEN) as file:
        libcarry.check(file)
    for source in (5, None, ["a"]):
        with pytest.raises(TypeError):
            libcarry.check(source)


class Raising(Plain):
    def read(self, size: int) -> bytes:
        if data := super().read(size):
            return data
        raise KeyError("no more")


@pytest.mark.parametrize(
    ("read", "error", "words"),
    [
        (lambda size: bytes(size + 1), ValueError, r"read\(\d+\) returned \d+ bytes"),
        (lambda size: "text", TypeError, "bytes-like"),
        (lambda size: 5, TypeError, "bytes-like"),
        (lambda size: None, BlockingIOError, "must wait"),
        (lambda size: 1 // 0, ZeroDivisionError, ""),
    ],
)
def test_readers_that_return_wrong_values(
    read: Callable[[int], Any], error: type[Exception], words: str
) -> None:
    """A read() that returns too much or no bytes, or that raises, ends the call with an error."""
    reader = type("Reader", (), {"read": lambda self, size: read(size)})()
    with pytest.raises(error, match=words):
        libcarry.check(reader)
    with pytest.raises(error, match=words):
        next(libcarry.frames(reader))
    with pytest.raises(error, match=words):
        libcarry.fix(reader, None)


def test_reader_that_raises_late() -> None:
    """An exception in read() reaches the caller."""
    with pytest.raises(KeyError, match="no more"):
        libcarry.check(Raising(BROKEN.read_bytes()))


def test_reader_that_uses_its_own_capture() -> None:
    """The read() of a source may check another capture, but may not use the capture that reads the
    source."""

    class Nested(Plain):
        def read(self, size: int) -> bytes:
            libcarry.check(BROKEN)
            return super().read(size)

    assert libcarry.check(Nested(BROKEN.read_bytes(), 4096)).packets == 11

    def read(size: int) -> bytes:
        for use in (capture.close, lambda: capture.batch(1, 1)):
            with pytest.raises(RuntimeError, match="in use by another call"):
                use()
        return stream.read(size)

    stream = io.BytesIO(BROKEN.read_bytes())
    capture = _carry.open_object(read, "nested", None, 0)
    assert capture.batch(1, 1)
    capture.close()
    with pytest.raises(ValueError, match="closed"):
        capture.batch(1, 1)


# --- Progress, threads, signals ---


def test_progress() -> None:
    """The last call of progress receives the totals; its exceptions reach the caller."""
    calls: list[tuple[int, int, int]] = []
    libcarry.check(Plain(BROKEN.read_bytes()), progress=lambda *numbers: calls.append(numbers))
    assert calls and calls[-1] == (BROKEN.stat().st_size, 11, 5)
    with pytest.raises(KeyError):
        libcarry.check(BROKEN, progress=lambda *numbers: {}[1])


def test_progress_of_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """With progress=True, a bar of tqdm counts the bytes of the file."""

    class Bar:
        def __init__(self, total: int | None, **_: object) -> None:
            self.total, self.n = total, 0
            bars.append(self)

        def update(self, count: int) -> None:
            self.n += count

        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    bars: list[Bar] = []
    modules = {"tqdm": type(sys)("tqdm"), "tqdm.auto": type(sys)("tqdm.auto")}
    modules["tqdm.auto"].tqdm = Bar
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    data = many(10_000)
    libcarry.check(Plain(data, 1 << 16), progress=True)
    libcarry.check(BROKEN, progress=True)
    assert [bar.total for bar in bars] == [None, BROKEN.stat().st_size]
    assert bars[0].n == len(data)


def test_progress_bar() -> None:
    """A check with a progress bar returns a complete report."""
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    assert libcarry.check(BROKEN, progress=True).packets == 11


def test_threads_share_a_report() -> None:
    report, results = libcarry.check(BROKEN), []
    threads = [
        threading.Thread(
            target=lambda: results.append((str(report), list(report), report.to_dict()))
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8 and all(result == results[0] for result in results)


def test_other_threads_run_meanwhile(tmp_path: Path) -> None:
    """While one thread waits in a check, another thread writes the input of the check."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    feeder = threading.Thread(target=lambda: fifo.open("wb").write(BROKEN.read_bytes()))
    feeder.start()
    assert libcarry.check(fifo).packets == 11
    feeder.join()


@pytest.mark.parametrize(
    "what",
    [
        "check(pipe)",
        "check(sys.argv[1])",
        "fix(pipe, None)",
        "next(frames(pipe))",
        "check(sys.argv[2])",
        "fix(sys.argv[2], None)",
    ],
)
def test_interrupt(what: str, tmp_path: Path) -> None:
    """Ctrl-C ends a call that waits for input, or that reads a very long file."""
    fifo, long = tmp_path / "fifo", tmp_path / "long"
    os.mkfifo(fifo)
    long.write_bytes(captures.pcap([]))
    os.truncate(long, 1 << 40)  # empty packets, which occupy no blocks
    text = (
        "import os, signal, sys; from libcarry import *\n"
        "def once(*_):\n"
        "    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "    raise KeyboardInterrupt\n"
        "signal.signal(signal.SIGINT, once)\n"
        "reader, writer = os.pipe(); pipe = open(reader, 'rb')\n"
        "hold = os.open(sys.argv[1], os.O_RDWR)\n"
        f"try:\n    print('waits', flush=True)\n    {what}\n"
        "except KeyboardInterrupt: print('ended')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", text, str(fifo), str(long)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stdout.readline() == "waits\n"
        for _ in range(600):  # the call may not have begun
            process.send_signal(signal.SIGINT)
            try:
                process.wait(0.2)
                break
            except subprocess.TimeoutExpired:
                continue
        else:
            process.kill()
        assert (process.stdout.read(), process.returncode) == ("ended\n", 0)


# --- Processes and interpreters ---


def test_fork(script: Script) -> None:
    """The library works in the children of a process that has used it."""
    done = script(
        "import multiprocessing, sys, libcarry\n"
        "multiprocessing.set_start_method('fork')\n"
        "libcarry.check(sys.argv[1])\n"
        "with multiprocessing.Pool(2) as pool:\n"
        "    reports = pool.map(libcarry.checksum, [b'ab'] * 8)\n"
        "import os\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(libcarry.check(sys.argv[1]).packets)\n"
        "print(reports[0], os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n",
        str(BROKEN),
    )
    assert done.stdout.split() == [str(libcarry.checksum(b"ab")), "11"], done.stderr


def test_interpreter_exits_during_a_check(script: Script) -> None:
    """The interpreter exits while a daemon thread is in a check."""
    done = script(
        "import sys, threading, time, libcarry\n"
        "class Slow:\n"
        "    def read(self, size):\n"
        "        reading.set(); time.sleep(3600)\n"
        "reading = threading.Event()\n"
        "threading.Thread(target=libcarry.check, args=[Slow()], daemon=True).start()\n"
        "reading.wait(); held = libcarry.frames(sys.argv[1]); next(held)\n",
        str(BROKEN),
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_subinterpreter(script: Script) -> None:
    """Subinterpreters that share the GIL work. For subinterpreters with their own GIL, see
    test_versions.py."""
    done = script(
        "import sys, libcarry\n"
        "try:\n"
        "    import _interpreters as interpreters\n"
        "    own = interpreters.create('legacy')\n"
        "except ImportError:\n"
        "    import _xxsubinterpreters as interpreters\n"
        "    own = interpreters.create(isolated=False)\n"
        'interpreters.run_string(own, \'import libcarry; assert libcarry.checksum(b"ab") == '
        "0x9e9d; libcarry.check(' + repr(sys.argv[1]) + ')')\n"
        "interpreters.destroy(own)\n"
        "print(libcarry.check(sys.argv[1]).packets)\n",
        str(BROKEN),
    )
    assert (done.stdout, done.stderr) == ("11\n", "")


# --- Memory ---

# Makes each of the first 199 allocations of Python in each call fail once.
NO_MEMORY = """
import array, io, sys, _testcapi
from libcarry import _carry

data = open(sys.argv[1], "rb").read()
result = _carry.open_bytes(data, "x").check(1, 6, 6, 9, 0, 0, True, (), None, True)
frame = data[40:100]
offsets, sizes = array.array("I", [0]), array.array("I", [len(frame)])
sums = _carry.packet_check_many(frame, offsets, sizes, 1, None, 0, 0)

calls = [
    lambda: result[0], result.json, result.text, result.html, result.outcome,
    lambda: result.table("files").columns, result.table("findings").__arrow_c_stream__,
    lambda: _carry.schema("counts").__arrow_c_schema__(),
    lambda: _carry.packet_check(frame, 1, None, 0, 0), lambda: sums[0], lambda: sums.verdict,
    lambda: _carry.sum_many(frame, offsets, sizes),
    lambda: _carry.open_bytes(data, "x").batch(4, 1000),
    lambda: _carry.open_bytes(data, "x").fix(-1, io.BytesIO().write, 0, 0, None, None),
    lambda: _carry.open_object(io.BytesIO(data).read, "x", None, 0).check(
        1, 6, 6, 9, 0, 0, True, (), None, True),
    lambda: _carry.open_bytes(data[:500], "x").check(1, 6, 6, 9, 0, 0, True, (), None, True),
]
for number, call in enumerate(calls):
    for allocation in range(1, 200):
        _testcapi.set_nomemory(allocation, allocation + 1)
        try:
            call()
        except (MemoryError, _carry.CaptureDamaged):
            pass
        except BaseException as error:
            _testcapi.remove_mem_hooks()
            print(number, allocation, repr(error))
        finally:
            _testcapi.remove_mem_hooks()
print("all came back")
"""


@pytest.mark.skipif("CARRY_SANITIZED" in os.environ, reason="sanitizers have their own memory")
def test_failed_allocations_raise_memory_error(script: Script) -> None:
    """If an allocation fails, no call crashes, or raises an unrelated exception."""
    pytest.importorskip("_testcapi", reason="this Python has no _testcapi")
    assert script(NO_MEMORY, str(BROKEN)).stdout == "all came back\n"


LEAKS = """
import array, ctypes, gc, io, sys
import libcarry

class Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]

mallinfo2 = ctypes.CDLL(None).mallinfo2
mallinfo2.restype = Heap

def memory():
    gc.collect()
    heap = mallinfo2()
    return sys.getallocatedblocks(), heap.uordblks + heap.hblkhd

data = open(sys.argv[1], "rb").read()
cut = data[:500]
sizes = array.array("Q", range(10))

def once():
    report = libcarry.check(io.BytesIO(data), threads=1)
    str(report), list(report), report.to_dict(), report._repr_html_(), report.outcome
    report.__arrow_c_stream__()
    report.table("counts").__arrow_c_schema__()
    libcarry.sum_many(data, sizes, sizes)
    libcarry.check(sys.argv[1], threads=1)
    for batch in libcarry.frame_batches(data, packets=2):
        list(batch.check()), [frame.check() for frame in batch]
    libcarry.fix(data, io.BytesIO())
    next(libcarry.frames(data))
    for wrong in (cut, b"", "/nonexistent"):
        try:
            libcarry.check(wrong, threads=1)
        except (OSError, ValueError):
            pass
    try:
        libcarry.check(io.BytesIO(data), threads=1, progress=lambda *n: {}[1])
    except KeyError:
        pass

for _ in range(50):
    once()
before = memory()
for _ in range(1000):
    once()
print(*(after - before for before, after in zip(before, memory())))
"""


@pytest.mark.skipif("CARRY_SANITIZED" in os.environ, reason="sanitizers keep what is freed")
def test_nothing_leaks(script: Script) -> None:
    """A thousand rounds of all calls leak neither objects nor heap."""
    done = script(LEAKS, str(BROKEN))
    assert done.stdout, done.stderr
    blocks, size = map(int, done.stdout.split())
    assert blocks < 500, f"{blocks} objects more"
    assert size < 16_000, f"{size} bytes more"
