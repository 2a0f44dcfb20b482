# SPDX-License-Identifier: MIT
"""Sources that users name: odd file names, plain web servers, URLs with passwords."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import pcap
from servers import Served, web

pytest.importorskip("fsspec", reason="fsspec is not installed")

from libcarry.audit import listing, worker

READ = worker.Options(retries=2, backoff=0.01)


def audited(*sources: str) -> list[dict[str, Any]]:
    """Returns the rows of *files*, in their order."""
    found = (worker.check(capture, READ)["files"] for capture in listing.find(sources))
    return [row for table in found for row in table.to_pylist()]


def statuses(*sources: str) -> dict[str, str]:
    return {row["file"]: row["status"] for row in audited(*sources)}


def test_a_web_server_that_sends_no_parts() -> None:
    """A capture is read completely from a server that ignores ranges."""
    record = pcap("bad")[24:]
    data = pcap("good") + record * (12 * 2**20 // len(record))
    with web({"/a.pcap": Served(data, whole=True)}) as root:
        (row,) = audited(f"{root}/a.pcap")
    assert (row["status"], row["error"]) == ("wrong", None)
    assert row["packets"] == 1 + 12 * 2**20 // len(record)


@pytest.mark.parametrize(("fails", "status"), [(2, "clean"), (5, "clean"), (1000, "failed")])
def test_a_web_server_that_fails_to_say_what_it_has(fails: int, status: str) -> None:
    with web({"/a.pcap": Served(pcap("good"), fails_to_say=fails)}) as root:
        (row,) = audited(f"{root}/a.pcap")
    assert row["status"] == status
    assert row["error"] == (None if status == "clean" else "the server answered 503")


def test_answer_404_is_not_retried() -> None:
    with web({}) as root:
        (row,) = audited(f"{root}/a.pcap")
    assert (row["status"], row["error"], row["attempts"]) == (
        "failed",
        "the server answered 404",
        0,
    )


def test_names_with_characters_of_globs(s3: Any) -> None:  # noqa: ANN401
    s3.create_bucket(Bucket="odd")
    for name in ("a[1].pcap", "b*.pcap", "c?d=1.pcap"):
        s3.put_object(Bucket="odd", Key=name, Body=pcap("good"))
    urls = [f"s3://odd/{name}" for name in ("a[1].pcap", "b*.pcap", "c?d=1.pcap")]
    assert statuses(*urls) == dict.fromkeys(urls, "clean")
    assert statuses("s3://odd/[ab]*") == dict.fromkeys(urls[:2], "clean")


def test_files_of_an_archive_are_known_by_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("x/a.pcap", pcap("good"))
        file.writestr("x/b.pcap", pcap("bad"))
    end = f"::file://{tmp_path}/a.zip"
    found = {f"zip://x/a.pcap{end}": "clean", f"zip://x/b.pcap{end}": "wrong"}
    assert statuses(f"zip://x/*.pcap{end}") == found
    assert statuses(f"zip://x{end}") == found


def test_secrets_of_urls_stay_secret() -> None:
    with web({"/a.pcap?X=1&Signature=hidden": Served(pcap("good"))}) as root:
        url = root.replace("://", "://me:hidden@")
        rows = audited(f"{url}/a.pcap?X=1&Signature=hidden", f"{url}/none.pcap")
        nobody = audited("http://me:hidden@127.0.0.1:1/none.pcap")
    assert [row["status"] for row in rows + nobody] == ["clean", "failed", "failed"]
    assert "hidden" not in repr(rows + nobody)
    assert rows[0]["file"].endswith("/a.pcap?X=1&Signature=***")
