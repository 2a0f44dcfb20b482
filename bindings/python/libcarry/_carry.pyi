# SPDX-License-Identifier: MIT
"""The part of the package in C (bindings/python/src)."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, final

from ._types import Buffer, Numbers, Progress

__version__: Final[str]  # the version of libcarry
PROTOCOLS: Final[tuple[str, ...]]  # protocols of headers, such as "tcp"
VERDICTS: Final[tuple[str, ...]]  # verdicts on checksums, such as "good"
REASONS: Final[tuple[str, ...]]  # why a checksum is unverifiable; the first means no reason
CAUSES: Final[tuple[str, ...]]  # why a checksum is bad, illegal or partial; the first: no cause
AUDIT_USAGE: Final[str]  # what carry audit --help prints
FLOW_CAUSES: Final[str]  # names of causes that other packets of a flow show, a space before each
CAUSE_WORDS: Final[tuple[str, ...]]  # for each cause, words about one checksum, to put after "it"
CAUSE_MANY: Final[tuple[str, ...]]  # words about several, to put after their number; "": none
CAUSE_ADVICE: Final[tuple[str, ...]]  # for each cause, advice to put after "try: "; "": none
REASON_WORDS: Final[tuple[str, ...]]  # for each reason, words to put after a number of checksums
VERDICT_CLASSES: Final[tuple[str, ...]]  # the class of styles of each verdict on a page
PAGE_HEAD: Final[str]  # the start of a page, up to its title
PAGE_STYLE: Final[str]  # the styles of a page, which follow the title

class CaptureError(ValueError):
    name: str  # the name of the capture
    offset: int  # bytes of the capture (uncompressed) before the part that cannot be read
    reason: str  # one line
    report: Any  # a Report on the packets before that part, or None

class CaptureDamaged(CaptureError): ...
class NotACapture(CaptureError): ...

# --- sums.c ---

def sum(data: Buffer, sum: int = 0, /) -> int: ...
def checksum(data: Buffer, sum: int = 0, /) -> int: ...
def crc32c(data: Buffer, crc: int = 0, /) -> int: ...
def copy_sum(target: Buffer, source: Buffer, sum: int = 0, /) -> int: ...
def finish(sum: int, /) -> int: ...
def finish_nonzero(sum: int, /) -> int: ...
def combine(a: int, b: int, offset_of_b: int, /) -> int: ...
def update(check: int, old: Buffer, new: Buffer, /) -> int: ...
def pseudo4(src: object, dst: object, protocol: int, size: int, sum: int = 0, /) -> int: ...
def pseudo6(src: object, dst: object, next_header: int, size: int, sum: int = 0, /) -> int: ...
def sum_many(
    data: Buffer,
    offsets: Numbers,
    sizes: Numbers,
    *,
    sums: Numbers | None = None,
    out: Any = None,  # noqa: ANN401
) -> memoryview: ...
def checksum_many(
    data: Buffer,
    offsets: Numbers,
    sizes: Numbers,
    *,
    sums: Numbers | None = None,
    out: Any = None,  # noqa: ANN401
) -> memoryview: ...

# --- packets.c ---

class PacketSum(NamedTuple):
    protocol: str
    verdict: str
    reason: str | None
    offset: int
    size: int
    stored: int
    expected: int | None
    cover_offset: int
    cover_size: int
    network_offset: int
    version: int
    quoted: bool

@final
class PacketSums:
    @property
    def frame(self) -> memoryview: ...
    @property
    def protocol(self) -> memoryview: ...
    @property
    def verdict(self) -> memoryview: ...
    @property
    def reason(self) -> memoryview: ...
    @property
    def offset(self) -> memoryview: ...
    @property
    def stored(self) -> memoryview: ...
    @property
    def expected(self) -> memoryview: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> tuple[int, PacketSum]: ...

def knows_link(linktype: int, /) -> bool: ...
def packet_check(
    frame: Buffer, linktype: int, wire: int | None, flags: int, fix: int, /
) -> list[PacketSum]: ...
def packet_fix(
    frame: Buffer, linktype: int, wire: int | None, flags: int, fix: int, /
) -> list[PacketSum]: ...
def packet_fill(
    frame: Buffer, linktype: int, wire: int | None, flags: int, fix: int, /
) -> list[PacketSum]: ...
def packet_check_many(
    frames: Buffer,
    offsets: Numbers,
    sizes: Numbers,
    linktype: int,
    wires: Numbers | None,
    flags: int,
    fix: int,
    /,
) -> PacketSums: ...
def packet_fix_many(
    frames: Buffer,
    offsets: Numbers,
    sizes: Numbers,
    linktype: int,
    wires: Numbers | None,
    flags: int,
    fix: int,
    /,
) -> PacketSums: ...
def packet_fill_many(
    frames: Buffer,
    offsets: Numbers,
    sizes: Numbers,
    linktype: int,
    wires: Numbers | None,
    flags: int,
    fix: int,
    /,
) -> PacketSums: ...

# --- captures.c ---

@final
class Capture:
    def check(
        self,
        threads: int,
        wrong: int,
        listed: int,
        kept: int,
        packets: int,
        flags: int,
        reassemble: bool,
        protocols: tuple[int, ...],
        progress: Progress | None,
        raises: bool,
        /,
    ) -> Result: ...
    def check_part(
        self,
        wrong: int,
        listed: int,
        kept: int,
        flags: int,
        most: int,
        progress: Progress | None,
        /,
    ) -> tuple[Result, bytes | None]: ...
    def offset(self) -> int: ...
    def descriptions(self) -> int: ...
    def batch(self, packets: int, size: int, /) -> tuple[Any, ...] | None: ...
    def fix(
        self,
        descriptor: int,
        write: Callable[[bytes], Any] | None,
        flags: int,
        verdicts: int,
        progress: Progress | None,
        output: str | None,
        /,
    ) -> str: ...
    def close(self) -> None: ...

def open_path(path: bytes, name: str, /) -> Capture: ...
def open_bytes(data: Buffer, name: str, /) -> Capture: ...
def open_object(
    read: Callable[[int], Buffer], name: str, rewind: Callable[[], object] | None, size: int, /
) -> Capture: ...
def is_capture_name(name: str, /) -> bool: ...

# --- parts.c ---

def check_related(
    parts: list[tuple[bytes, int, int]],
    wrong: int,
    listed: int,
    kept: int,
    flags: int,
    alone: bool,
    name: str,
    /,
) -> Result: ...

# --- result.c ---

@final
class Result:
    def text(self) -> str: ...
    def json(self) -> str: ...
    def html(self) -> str: ...
    def outcome(self) -> str: ...
    def status(self) -> str: ...
    def complete(self) -> bool: ...
    def listed(self) -> int: ...
    def table(self, name: str, /) -> Table: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Finding: ...

# --- tables.c ---

class Finding(NamedTuple):
    file: str
    frame_number: int
    frame_time: int | None
    protocol: str
    verdict: str
    cause: str | None
    certain: bool | None
    src_ip: str | None
    dst_ip: str | None
    src_port: int | None
    dst_port: int | None
    stored: int
    expected: int | None
    file_offset: int | None

@final
class Table:
    @property
    def columns(self) -> tuple[tuple[str, str], ...]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

def schema(table: str, /) -> Table: ...
