# SPDX-License-Identifier: MIT
"""Web servers on loopback that fail like real stores."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CHUNK = 1 << 16


@dataclass
class Served:
    """A file, and how it is served."""

    data: bytes
    fails: int = 0  # answers of 503 before the first good one
    fails_to_say: int = 0  # answers of 503 to HEAD requests, too, before the first good one
    whole: bool = False  # ignores ranges: sends the whole file
    cuts: int = 0  # answers that end in the middle of the data
    delay: float = 0.0  # seconds before an answer
    restless: bool = False  # each answer has another entity tag
    answers: int = 0
    bytes: int = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:  # noqa: ANN401
        """Prints nothing."""

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, with_body: bool) -> None:
        served: Served | None = self.server.files.get(self.path)  # type: ignore[attr-defined]
        if served is None:
            self._end(404)
            return
        served.answers += with_body
        if served.fails_to_say:
            served.fails_to_say -= 1
            self._end(503)
            return
        if with_body:
            time.sleep(served.delay)
        if with_body and served.fails:
            served.fails -= 1
            self._end(503)
            return
        self._send(served, with_body)

    def _end(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, served: Served, with_body: bool) -> None:
        if served.whole:
            del self.headers["Range"]
        first, last = self._range(len(served.data))
        self.send_response(206 if "Range" in self.headers else 200)
        tag = time.monotonic_ns() if served.restless else len(served.data)
        self.send_header("ETag", f'"{tag}"')
        if not served.whole:
            self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last - first))
        if "Range" in self.headers:
            self.send_header("Content-Range", f"bytes {first}-{last - 1}/{len(served.data)}")
        self.end_headers()
        if not with_body:
            return
        body = served.data[first:last]
        if served.cuts:
            served.cuts -= 1
            body = body[: len(body) // 2]
            self.close_connection = True
        served.bytes += len(body)
        for start in range(0, len(body), CHUNK):
            self.wfile.write(body[start : start + CHUNK])

    def _range(self, size: int) -> tuple[int, int]:
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not found:
            return 0, size
        return int(found[1]), min(size, int(found[2]) + 1) if found[2] else size


@contextmanager
def web(files: dict[str, Served]) -> Iterator[str]:
    """Serves files by their paths, which begin with a slash; yields the URL of the root."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.files = files  # type: ignore[attr-defined]
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
