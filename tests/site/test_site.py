# SPDX-License-Identifier: MIT
"""The check of the manual's site finds what is wrong with one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "scripts"))
import check_site  # noqa: E402

TEXT = "Some text, which is long enough for a page."
FORM = '<form role="search" action="search.html"><input name="q"></form>'
SEARCH = f"""
<div id="mkdocs-search-results"></div>
<script>
document.getElementById("mkdocs-search-results").innerHTML = "<a href='b.html'>b</a>";
</script>{TEXT}"""
GOOD = {
    "index.html": f'{FORM}<a href="b.html#x">b</a> {TEXT}',
    "b.html": f'<h1 id="x">b</h1> <a href="./">home</a> {check_site.WORD} {TEXT}',
    "search.html": SEARCH,
}
BROKEN = {
    "index.html": ('<a href="c.html">c</a>', "leads to c.html, which is not there"),
    "index.html ": ('<a href="b.html#y">y</a>', "leads to b.html#y, which is not there"),
    "b.html": ("<script>undefined.member;</script>", "Uncaught TypeError"),
    "b.html ": ('<img src="none.png">', "404"),
    "index.html  ": ('<img src="http://example.org/a.png">', "ERR_NAME_NOT_RESOLVED"),
    "index.html   ": ('<link rel="stylesheet" href="no.css">', "404"),
}

OBSTACLE = check_site.obstacle()
pytestmark = pytest.mark.skipif(bool(OBSTACLE), reason=OBSTACLE)


@pytest.fixture(scope="module")
def driver() -> Iterator[object]:
    with check_site.browser() as one:
        yield one


def complaints(driver: object, site: Path, pages: dict[str, str]) -> list[str]:
    for name, body in pages.items():
        head = '<link rel="icon" href="data:,">'
        (site / name).write_text(f"<!doctype html><title>t</title>{head}<body>{body}</body>")
    with check_site.served(site) as address:
        check = check_site.Check(site, address, driver)
        check.run()
    return check.complaints


def test_nothing_is_wrong_with_a_good_one(driver: object, tmp_path: Path) -> None:
    assert complaints(driver, tmp_path, GOOD) == []


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_found(driver: object, tmp_path: Path, name: str) -> None:
    page, (fault, complaint) = name.strip(), BROKEN[name]
    every = complaints(driver, tmp_path, GOOD | {page: fault + GOOD[page]})
    assert len(every) == 1, every
    (found,) = every
    assert found.startswith(f"{page}: ")
    assert complaint in found


def test_a_page_without_links_to_it(driver: object, tmp_path: Path) -> None:
    found = complaints(driver, tmp_path, GOOD | {"lost.html": TEXT})
    assert found == ["lost.html: no link leads there"]


def test_a_page_without_text(driver: object, tmp_path: Path) -> None:
    link = '<a href="empty.html">e</a>'
    pages = GOOD | {"index.html": link + GOOD["index.html"], "empty.html": ""}
    assert complaints(driver, tmp_path, pages) == ["empty.html: has no title or no text"]


def test_a_search_that_leads_elsewhere(driver: object, tmp_path: Path) -> None:
    pages = GOOD | {"b.html": GOOD["b.html"].replace(check_site.WORD, "")}
    (found,) = complaints(driver, tmp_path, pages)
    assert found.endswith(f"b.html does not say {check_site.WORD}")
