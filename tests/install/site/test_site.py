# SPDX-License-Identifier: MIT
"""The manual's site: documents for its generator, and a check that finds errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "scripts"))
import check_site  # noqa: E402
from manual import site  # noqa: E402

# --- Staged documents ---


def test_links_to_sources_lead_to_pages_made_of_them() -> None:
    links = site.Links("docs/index.md")
    text = (
        "[a](../include/carry/sum.h) [b](schema/fix.json) [c](man/carry-fix.1) [d](schema/) "
        "[e](../examples/check.c) [f](sum.md#copies) [g](../examples/good.pcap) [h](../LICENSE)"
    )
    assert links.rewrite(text) == (
        "[a](reference/headers/sum.md) [b](reference/json/fix.md) [c](reference/man/carry-fix.md) "
        "[d](reference/index.md#json) [e](../examples/check.c.md) [f](sum.md#copies) "
        "[g](../examples/good.pcap) [h](../LICENSE.md)"
    )
    assert len(links.wanted) == 8


def test_notebooks_are_documents(tmp_path: Path) -> None:
    """Text, code and stored output of notebooks are shown, and links from and to them work."""
    name = "docs/tutorial/captures-in-python"
    links = site.Links("docs/index.md")
    assert links.rewrite("[a](tutorial/captures-in-python.ipynb)") == (
        "[a](tutorial/captures-in-python.md)"
    )
    assert links.wanted == [f"{name}.ipynb"]
    assert "docs/reference/python.md" in site.Stage(tmp_path).put(f"{name}.ipynb")
    page = (tmp_path / f"{name}.md").read_text()
    assert page.startswith("# Captures in Python\n")
    assert "```python\nimport libcarry\n" in page
    assert "```text\nbroken.pcap: 11 packets, 839 bytes\n" in page
    assert f"{name}.md" in names(site.navigation())


def test_a_dead_link_is_an_error() -> None:
    for target in ("no.md", "../../outside"):
        with pytest.raises(site.SiteError, match=r"docs/index\.md"):
            site.Links("docs/index.md").rewrite(f"[a]({target})")


def test_names_in_code_become_links() -> None:
    links = site.Links("docs/sum.md")
    assert links.rewrite("`carry/sum.h` `man carry` `carry` [`carry/crc.h`](sum.md)") == (
        "[`carry/sum.h`](reference/headers/sum.md) [`man carry`](reference/man/carry.md) `carry` "
        "[`carry/crc.h`](sum.md)"
    )
    assert links.rewrite("```\n`carry/sum.h` [a](no.md)\n  - b\n```") == (
        "```\n`carry/sum.h` [a](no.md)\n  - b\n```"
    )


def test_lists_and_bars_are_as_the_generator_reads_them() -> None:
    assert site.dialect("- a:\n  - b\n    c\n") == "- a:\n    - b\n    c\n"
    assert site.dialect(r"| `a\|b` | c\|d |") == r"| `a|b` | c\|d |"


def names(pages: list[Any]) -> Iterator[str]:
    for page in pages:
        if isinstance(page, dict):
            page = next(iter(page.values()))
        yield from names(page) if isinstance(page, list) else [page]


def test_the_navigation_has_all_documents_but_decisions() -> None:
    listed = [*names(site.navigation())]
    assert len(listed) == len({*listed})
    documents = {name for name in site.documents() if "/decisions/" not in name}
    assert documents <= {*listed}


# --- The check in a browser ---

HEAD = '<!doctype html><html><head><link rel="icon" href="data:,"><title>{}</title></head><body>'
SECOND = HEAD.format("b") + '<p id="here">b</p><a href="index.html">a</a>'
GOOD = '<a href="b.html#here">b</a> <a href="c.pcap">c</a> <a href="https://example.com/">d</a>'

# Content that is added to a page, and the complaint of the check.
MUTANTS = {
    "nothing": ("", ""),
    "dead link": ('<a href="no.html">x</a>', "index.html: no file no.html"),
    "dead anchor": ('<a href="b.html#no">x</a>', "index.html: no element b.html#no"),
    "own dead anchor": ('<a href="#no">x</a>', "index.html: no element index.html#no"),
    "script error": ("<script>no_such_name();</script>", "no_such_name is not defined"),
    "picture": ('<img src="no.png">', "no.png does not load: status 404"),
    "foreign": ('<img src="http://192.0.2.1/a.png">', "asks another host: http://192.0.2.1/a.png"),
    "foreign script": ('<script src="https://example.com/a.js"></script>', "asks another host"),
    "scheme": ('<a href="file:///etc/hosts">x</a>', "file:///etc/hosts cannot be followed"),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if missing := check_site.obstacle():
        pytest.skip(missing)
    with check_site.deadline(300), check_site.open_browser() as browser:
        yield browser


def judged(browser: object, folder: Path, pages: dict[str, str]) -> list[str]:
    for name, text in pages.items():
        (folder / name).write_text(text)
    with check_site.serve_folder(folder) as base:
        report = check_site.check_pages(browser, folder, base)
    return report.complaints


@pytest.mark.parametrize("name", MUTANTS)
def test_the_check_finds(browser: object, tmp_path: Path, name: str) -> None:
    added, said = MUTANTS[name]
    pages = {"index.html": HEAD.format("a") + GOOD + added, "b.html": SECOND, "c.pcap": "c"}
    complaints = judged(browser, tmp_path, pages)
    assert len(complaints) >= bool(said)
    assert all(said and (said in line or "example.com" in line) for line in complaints)
    assert not said or any(said in line for line in complaints)


def test_the_check_finds_empty_and_lonely_pages(browser: object, tmp_path: Path) -> None:
    pages = {"index.html": HEAD.format(""), "b.html": SECOND}
    assert judged(browser, tmp_path, pages) == [
        "index.html: has no title",
        "index.html: has no text",
        "b.html: no link leads there",
    ]


def test_the_check_finds_a_search_that_finds_nothing(
    browser: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_site, "LOAD_SECONDS", 1)
    form = '<form role="search"><input name="q"></form><div id="mkdocs-search-results">{}</div>'
    with check_site.serve_folder(tmp_path) as base:
        for result, said in (("", "finds no"), ('<a href="b.html">b</a>', "leads to")):
            (tmp_path / "index.html").write_text(HEAD.format("a") + form.format(result))
            (tmp_path / "b.html").write_text(SECOND)
            (complaint,) = check_site.check_search(browser, base, "word")
            assert said in complaint
