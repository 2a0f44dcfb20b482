# SPDX-License-Identifier: MIT
"""`carry audit`: parses the command line, runs the job, and determines the exit status."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, NoReturn

from .. import _carry

if TYPE_CHECKING:
    from .job import Settings

_ERROR = 3
_NEEDED = ("fsspec", "pyarrow", "ray")

_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class _UsageError(Exception):
    """Raised if the command line is wrong. The message gives the reason."""


# --- Words ---


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(message)


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMGT]?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is no size: use a number, or 512M, 4G")
    return int(found[1]) * _SIZES[found[2]]


def _count(text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 0 to 999999999")
    return int(text)


def _findings(text: str) -> int | None:
    return None if text == "all" else _count(text)


def _threads(text: str) -> int:
    if not 1 <= (count := _count(text)) <= 1024:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 to 1024")
    return count


def _storage(text: str) -> dict[str, dict[str, object]]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"no JSON: {error}") from error
    if not isinstance(value, dict) or not all(isinstance(v, dict) for v in value.values()):
        raise argparse.ArgumentTypeError('an object of objects, such as {"s3": {"anon": true}}')
    return value


def _parser() -> _Parser:
    parser = _Parser(prog="carry audit", add_help=False, allow_abbrev=True)
    add = parser.add_argument
    add("sources", nargs="*")
    add("-o", "--out")
    add("--files-from")
    add("--files0-from")
    add("--partition", choices=("day", "folder"))
    add("--findings", type=_findings, default=1000)
    add("--html")
    add("-J", "--json", action="store_true")
    add("-q", "--quiet", action="store_true")
    add("-v", "--verbose", action="store_true")
    add("--address")
    add("-j", "--threads", type=_threads)
    add("--storage", type=_storage, default={})
    add("--split", type=_size, default=4 << 30)
    add("--retries", type=_count, default=4)
    add("--max-errors", type=_count)
    add("--unpack-limit", type=_count, default=1000)
    add("-h", "--help", action="store_true")
    return parser


@contextmanager
def _list(path: str) -> Iterator[IO[bytes]]:
    if path == "-":
        yield sys.stdin.buffer
    else:
        with open(path, "rb") as file:
            yield file


def _read_names(path: str | None, end: bytes) -> list[str]:
    """Returns the names in the list at `path`, or no names if `path` is None."""
    if path is None:
        return []
    with _list(path) as file:
        names = file.read().split(end)
    return [name.decode("utf-8", "surrogateescape") for name in names if name]


def _settings(words: argparse.Namespace) -> Settings:
    from . import worker
    from .job import Settings

    sources = [
        *words.sources,
        *_read_names(words.files_from, b"\n"),
        *_read_names(words.files0_from, b"\0"),
    ]
    if not words.out:
        raise _UsageError("no --out")
    if not sources:
        raise _UsageError("no SOURCE")
    return Settings(
        sources=sources,
        out=words.out,
        address=words.address,
        threads=words.threads,
        partition=words.partition,
        split=words.split,
        max_errors=words.max_errors,
        verbose=words.verbose,
        storage=words.storage,
        read=worker.Options(
            findings=words.findings, retries=words.retries, unpack_limit=words.unpack_limit
        ),
    )


# --- Running ---


def _audit(words: argparse.Namespace) -> int:
    from . import client, engine, job
    from .progress import Progress

    settings = _settings(words)
    run = client.run if (settings.address or "").startswith(client.SCHEME) else job.run
    with engine.quiet(not words.verbose) as stream, Progress(stream, words.quiet) as progress:
        worst = run(settings, progress)
    return max(worst, _report(job.absolute(settings.out), words))


def _report(out: str, words: argparse.Namespace) -> int:
    """Prints the summary and writes the page, if the options request them. Returns the exit
    status, which depends on all captures in the tables."""
    from . import overview, page, report

    found = overview.read(out)
    if words.html:
        page.write(out, words.html, found)
    if words.json:
        print(json.dumps(report.to_dict(found)))
    elif not words.quiet:
        print(report.text(found), end="")
    return report.exit_status(found)


def _missing_packages() -> str | None:
    return next((name for name in _NEEDED if importlib.util.find_spec(name) is None), None)


def _run(arguments: Sequence[str]) -> int:
    is_report = arguments[:1] == ["report"]
    words = _parser().parse_intermixed_args(list(arguments)[is_report:])
    if words.help:
        print(_carry.AUDIT_USAGE, end="")
        return 0
    if missing := _missing_packages():
        raise _UsageError(f"{missing} is not installed: pip install 'libcarry[audit]'")
    if not is_report:
        return _audit(words)
    if len(words.sources) != 1:
        raise _UsageError("report takes one DEST")
    return _report(words.sources[0], words)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        return _run(arguments)
    except _UsageError as error:
        print(f"carry audit: {error}; see carry audit --help", file=sys.stderr)
    except KeyboardInterrupt:
        print("carry audit: interrupted: the same command goes on", file=sys.stderr)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except Exception as error:  # engines and stores may raise anything
        if "-v" in arguments or "--verbose" in arguments:
            raise
        print(f"carry audit: {_error_line(error)}", file=sys.stderr)
    return _ERROR


def _error_line(error: Exception) -> str:
    """Returns an error as one line, with the name of the file if there is one."""
    from .listing import one_line, without_secrets

    name = getattr(error, "filename", None)
    return (f"{without_secrets(str(name))}: " if name else "") + one_line(error)


if __name__ == "__main__":
    sys.exit(main())
