# SPDX-License-Identifier: MIT
"""Types of arguments, for type checkers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    if sys.version_info >= (3, 12):
        from collections.abc import Buffer as _Buffer
    else:
        from typing_extensions import Buffer as _Buffer

    Buffer: TypeAlias = _Buffer
else:
    Buffer: TypeAlias = Any

# An array of integers that supports the buffer protocol.
Numbers: TypeAlias = Buffer


class Readable(Protocol):
    """A file object that was opened to read bytes."""

    def read(self, size: int, /) -> Buffer: ...


class Writable(Protocol):
    """A file object that was opened to write bytes."""

    def write(self, data: bytes, /) -> Any: ...  # noqa: ANN401


# The name of a file.
Path: TypeAlias = str | PathLike[str]
# A capture: a path or a URL, a file object, or bytes.
Source: TypeAlias = Path | Readable | Buffer
# A function called with the numbers of bytes read, packets, and wrong checksums so far.
Progress: TypeAlias = Callable[[int, int, int], object]
