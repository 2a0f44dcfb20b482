# SPDX-License-Identifier: MIT
"""Frames of captures: single ones, and many in one buffer."""

from __future__ import annotations

import gc
import io
import os
import threading
import weakref
from pathlib import Path

import captures
import libcarry
import pytest
from conftest import SOURCE

pytestmark = pytest.mark.sanitized

BROKEN = SOURCE / "examples/broken.pcap"
OFFLOAD = SOURCE / "examples/offload.pcapng"


def test_frames() -> None:
    """Frames have number, time and bytes; dpkt reads the same bytes."""
    frames = list(libcarry.frames(BROKEN))
    assert [frame.number for frame in frames] == list(range(1, 12))
    assert sum(len(frame.data) for frame in frames) == 839
    assert {frame.linktype for frame in frames} == {1}
    assert frames[2].time_ns == 1_700_000_000_200_000_000
    dpkt = pytest.importorskip("dpkt", reason="python3-dpkt is not installed")
    with open(BROKEN, "rb") as file:
        read = [data for _, data in dpkt.pcap.Reader(file)]
    assert [bytes(frame.data) for frame in frames] == read


def test_frames_stay_valid() -> None:
    kept = [frame for frame in libcarry.frames(BROKEN.read_bytes())]
    again = list(libcarry.frames(BROKEN))
    assert [bytes(frame.data) for frame in kept] == [bytes(frame.data) for frame in again]
    with pytest.raises(TypeError):
        kept[0].data[0] = 1


@pytest.mark.parametrize(
    ("packets", "size"), [(1, 1 << 20), (3, 1 << 20), (4096, 1), (4096, 200), (1 << 30, 200)]
)
def test_batches(packets: int, size: int) -> None:
    """Batches of any size hold all frames, and have the sums of single frames."""
    batches = list(libcarry.frame_batches(BROKEN, packets=packets, size=size))
    frames = [frame for batch in batches for frame in batch]
    assert [f.number for f in frames] == list(range(1, 12))
    assert all(1 <= len(batch) <= packets for batch in batches)
    checked = [(batch.numbers[i], s) for batch in batches for i, s in batch.check()]
    assert checked == [(frame.number, s) for frame in frames for s in frame.check()]


def test_numpy() -> None:
    """Columns of a batch can be read as arrays of numpy."""
    numpy = pytest.importorskip("numpy", reason="python3-numpy is not installed")
    (batch,) = libcarry.frame_batches(BROKEN)
    sizes = numpy.asarray(batch.sizes)
    assert (sizes.dtype, int(sizes.sum())) == (numpy.uint32, 839)
    verdicts = numpy.bincount(numpy.asarray(batch.check().verdict), minlength=6)
    counts = libcarry.check(BROKEN).counts
    assert list(verdicts) == [
        sum(verdicts[name] for verdicts in counts.values()) for name in libcarry.VERDICTS
    ]


def test_frame_check_sequence_is_omitted() -> None:
    frame = captures.ethernet(captures.packet(captures.UDP, b"hello, here is carry"))
    capture = bytearray(captures.pcap([frame + b"\1\2\3\4"]))
    # Link type 1, and frame check sequences of 2 words of 16 bits.
    capture[20:24] = (1 | 1 << 26 | 2 << 28).to_bytes(4, "little")
    (read,) = libcarry.frames(capture)
    assert (bytes(read.data), read.wire) == (frame, len(frame))


def test_mixed_link_types() -> None:
    """A batch of several link types is refused; its frames are checked one by one."""
    from libcarry.testing import to_capture

    ip = captures.packet(captures.UDP, b"hello, here is carry")
    scapy = pytest.importorskip("scapy.layers.inet", reason="python3-scapy is not installed")
    (batch,) = libcarry.frame_batches(to_capture([captures.ethernet(ip), scapy.IP(ip)]))
    with pytest.raises(ValueError, match=r"link types \[1, 101\]"):
        batch.check()
    assert [frame.check()[1].verdict for frame in batch] == ["good", "good"]


def test_damage_is_raised_after_the_frames() -> None:
    seen = []
    with pytest.raises(libcarry.CaptureDamaged, match="offset 488"):
        for frame in libcarry.frames(BROKEN.read_bytes()[:500]):
            seen.append(frame.number)
    assert seen == [1, 2, 3, 4, 5]
    with pytest.raises(libcarry.NotACapture):
        next(libcarry.frames(b"no capture"))


def test_pipe_yields_each_frame_at_once() -> None:
    """A pipe yields the first frame before the second packet is written."""
    reader, writer = os.pipe()
    data = BROKEN.read_bytes()
    first = 24 + 16 + len(next(libcarry.frames(data)).data)
    seen = threading.Event()

    def write() -> None:
        os.write(writer, data[:first])
        assert seen.wait(60)
        os.write(writer, data[first:])
        os.close(writer)

    thread = threading.Thread(target=write)
    thread.start()
    with open(reader, "rb") as pipe:
        frames = libcarry.frames(pipe)
        assert next(frames).number == 1
        seen.set()
        assert [frame.number for frame in frames] == list(range(2, 12))
    thread.join()


def test_abandoned_generator_closes_its_file(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        next(libcarry.frames(BROKEN))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_object_may_hold_its_frames() -> None:
    """Python's garbage collector frees a file object that refers to its own frames."""

    class Holder(io.BytesIO):
        frames: object = None

    def hold() -> weakref.ref[Holder]:
        file = Holder(BROKEN.read_bytes())
        file.frames = libcarry.frames(file)
        next(file.frames)  # type: ignore[call-overload]
        return weakref.ref(file)

    held = hold()
    gc.collect()
    assert held() is None


@pytest.mark.parametrize(
    "options", [{"packets": 0}, {"size": 0}, {"packets": -1}, {"size": 1 << 40}]
)
def test_wrong_sizes_of_batches_raise(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be from 1"):
        libcarry.frame_batches(BROKEN, **options)
