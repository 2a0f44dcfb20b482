# SPDX-License-Identifier: MIT
"""The page of `carry check --html`: its content, its safety, and its look in a browser."""

from __future__ import annotations

import html.parser
import os
import re
import sys
from pathlib import Path

import pytest
from captures import GOOD, PARTIAL, TCP, UDP, WRONG, Record, ethernet, packet, pcap
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, SOURCE, Run

sys.path.insert(0, str(SOURCE / "scripts"))
import check_site

VOID = {"meta", "link", "br"}
HOSTILE = "<script>alert(1)<!--\"&'\x1b[31m\u202e.pcap"
BROKEN = SOURCE / "examples/broken.pcap"


class Reader(html.parser.HTMLParser):
    """Collects the content of a page; requires that its elements are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.sections: dict[str, str] = {}
        self.title = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag == "h2":
            self.title = ""
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            return
        self.text += data
        if self.open and self.open[-1] == "h2":
            self.title += data
        elif self.title:
            self.sections[self.title] = self.sections.get(self.title, "") + data


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text())
    reader.close()
    assert reader.open == []
    return reader


def page_of(carry: Run, folder: Path, *arguments: str | Path, status: int = BAD) -> Reader:
    path = folder / "page.html"
    done = carry("check", f"--html={path}", *arguments)
    assert (done.returncode, done.stderr) == (status, "")
    assert done.stdout == carry("check", *arguments).stdout
    return read(path)


# --- Content ---


def test_the_page_of_one_capture(carry: Run, tmp_path: Path) -> None:
    """The page has a section for each question, and marks the wrong bytes."""
    page = page_of(carry, tmp_path, BROKEN)
    sections = ["Over time", "By protocol", "Why", "By sender", "First findings"]
    assert [*page.sections] == sections
    assert "Checksums of broken.pcap" in page.text
    assert "4 bad and 1 illegal checksums" in page.text
    assert "11 packets, 839 bytes; checked by carry " in page.text
    assert "tcp: 2 bad, both sent by 10.0.0.5" in page.sections["Why"]
    findings = page.sections["First findings"]
    assert findings.count("expected") == 5
    assert "[2001:db8::5]:50000" in findings
    text = (tmp_path / "page.html").read_text()
    marks = re.findall(r"<mark>([0-9a-f ]+)</mark>", text)
    assert marks == ["b5 7c", "b7 7c", "be ef", "ca 6c", "00 00"]
    assert "0018  <mark>be ef</mark> 0a 00 00 09" in text


def test_page_loads_and_runs_nothing(carry: Run, tmp_path: Path) -> None:
    """The page contains no script, and no address except an empty icon."""
    page = page_of(carry, tmp_path, BROKEN)
    assert not page.tags & {"script", "img", "iframe", "object", "a", "form", "base"}
    assert [value for name, value in page.attributes if name in ("src", "href")] == ["data:,"]
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    text = (tmp_path / "page.html").read_text()
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_tables_have_captions_and_heads(carry: Run, tmp_path: Path) -> None:
    page_of(carry, tmp_path, BROKEN, SOURCE / "examples/good.pcap")
    for table in re.findall(r"<table>.*?</table>", (tmp_path / "page.html").read_text(), re.S):
        assert table.startswith("<table>\n<caption>")
        assert 'scope="col"' in table


def test_several_captures(carry: Run, tmp_path: Path) -> None:
    """The page of several captures has a row for each, with its outcome."""
    folder = tmp_path / "captures"
    folder.mkdir()
    (folder / "bad.pcap").write_bytes(pcap([GOOD, WRONG]))
    (folder / "cut.pcap").write_bytes(pcap([GOOD])[:-1])
    (folder / "empty.pcap").write_bytes(pcap([]))
    (folder / "good.pcap").write_bytes(pcap([GOOD, PARTIAL]))
    page = page_of(carry, tmp_path, folder, status=DAMAGED)
    assert "Checksums of 4 captures" in page.text
    rows = page.sections["Captures"]
    for name, outcome in (("bad", "21 bad checksum"), ("good", "2clean, 1 left to transmit")):
        assert f"{folder}/{name}.pcap{outcome}" in rows
    assert f"{folder}/cut.pcap0damaged" in rows
    assert f"{folder}/empty.pcap0nothing was checked: no packets" in rows
    assert f"{folder}/cut.pcap: damaged at offset 24: " in page.sections["Damage"]
    assert f"file{folder}/bad.pcap" in page.sections["First findings"]
    done = carry("check", "-q", "--html", tmp_path / "b.html", folder / "no.pcap", BROKEN)
    assert done.returncode == ERROR
    assert f"{folder}/no.pcap0could not be read" in read(tmp_path / "b.html").sections["Captures"]


def test_colours_of_a_terminal_are_not_on_the_page(carry: Run, tmp_path: Path) -> None:
    page = page_of(carry, tmp_path, "--color=always", BROKEN)
    assert "\n4 bad and 1 illegal checksums\n" in page.text


def test_page_shows_only_selected_packets(carry: Run, tmp_path: Path) -> None:
    page = page_of(carry, tmp_path, "--frames=3", BROKEN)
    assert "1 of 11 packets" in page.text
    assert "Over time" not in page.sections  # there is no chart for a single moment
    page = page_of(carry, tmp_path, "--frames=3", BROKEN, BROKEN)
    assert f"{BROKEN}1 of 111 bad checksum" in page.sections["Captures"]


def test_verdicts_over_time(carry: Run, tmp_path: Path) -> None:
    """The bars and the table beside them agree with the counts."""
    records = [Record(GOOD, seconds=1_700_000_000 + i) for i in range(500)]
    records[400] = Record(WRONG, seconds=1_700_000_400)
    (tmp_path / "a.pcap").write_bytes(pcap(records))
    page = page_of(carry, tmp_path, tmp_path / "a.pcap")
    text = (tmp_path / "page.html").read_text()
    assert len(re.findall(r'class="fill-bad" x=', text)) == 3  # two charts, and the share of TCP
    table = re.search(r"<details>.*?</details>", text, re.S)
    assert table
    rows = re.findall(r"<tr><td>(\S+)</td><td class=\"number\">(\d+)</td>", table[0])
    assert 32 <= len(rows) <= 64
    assert sum(int(good) for _, good in rows) == 999
    assert rows[0][0] <= "2023-11-14T22:13:20.000Z" < rows[1][0]
    assert "at most" in page.sections["Over time"]


def test_a_field_without_bytes(carry: Run, tmp_path: Path) -> None:
    """The bytes around a field are shown, and the field is marked, even if it lies far from the
    start of the frame."""
    inner = packet(TCP, bytes(600), sums="bad")
    deep = ethernet(packet(UDP, bytes(8) + inner, ports=(1, 4789)))
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([WRONG, deep]))
    page_of(carry, tmp_path, path)
    assert "<mark>" in (tmp_path / "page.html").read_text()


# --- Hostile input, and output ---


def test_names_are_escaped(carry: Run, tmp_path: Path) -> None:
    folder = tmp_path / "<b>&amp;"
    folder.mkdir()
    (folder / HOSTILE).write_bytes(pcap([WRONG]))
    with open(os.fsencode(folder) + b"/\xff<i>.pcap", "wb") as file:
        file.write(pcap([WRONG])[:-1])
    page = page_of(carry, tmp_path, folder, status=DAMAGED)
    assert not page.tags & {"script", "b", "i"}
    assert "<b>&amp;/<script>alert(1)<!--\"&'?[31m?.pcap" in page.text
    assert "/?<i>.pcap" in page.text


def test_long_names_are_cut(carry: Run, tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["x" * 200] * 4)
    folder.mkdir(parents=True)
    (folder / "end.pcap").write_bytes(pcap([WRONG]))
    page = page_of(carry, tmp_path, folder / "end.pcap", BROKEN)
    assert max(map(len, page.sections["Captures"].split())) < 500
    assert "xx…xx" in page.sections["Captures"]
    assert "xxx/end.pcap" in page.sections["Captures"]


def test_page_size_is_bounded(carry: Run, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(pcap([WRONG] * 200))
    names = b"\0".join([bytes(tmp_path / "a.pcap")] * 1100)
    (tmp_path / "list").write_bytes(names)
    done = carry(
        *("check", "-q", "-n", "200", "--html", tmp_path / "page.html"),
        *("--files0-from", tmp_path / "list"),
    )
    assert done.returncode == BAD
    page = read(tmp_path / "page.html")
    assert "and 100 more, which all other sections include" in page.sections["Captures"]
    findings = page.sections["First findings"]
    assert findings.count("expected") == 50
    assert "and 219,950 more: carry check --bad-only lists them all" in findings
    assert (tmp_path / "page.html").stat().st_size < 1_000_000


def test_page_is_complete_or_absent(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")
    for arguments in (["--html", path, "-f", "tcp prot", BROKEN], ["--html", path, "-q", path]):
        done = carry("check", *arguments)
        assert done.returncode == ERROR
        assert path.read_text() == "before"
    capture = tmp_path / "a.pcap"
    capture.write_bytes(pcap([WRONG]))
    done = carry("check", "--html", capture, "-w", tmp_path / "bad.pcapng", capture)
    assert done.returncode == ERROR
    assert "not checked: --html would replace it; neither file is changed" in done.stderr
    assert capture.read_bytes() == pcap([WRONG])
    assert not (tmp_path / "bad.pcapng").exists()
    done = carry("check", "--html", tmp_path / "no/page.html", capture)
    assert (done.returncode, done.stdout) == (ERROR, "")
    for name, problem in (("-", "must name a file"), ("a.xz", "cannot compress as")):
        done = carry("check", "--html", name, capture)
        assert f"carry check: --html {problem}" in done.stderr


def test_a_folder_may_hold_the_page(carry: Run, tmp_path: Path) -> None:
    """A second check of the folder ignores the page that the first check wrote there."""
    capture = tmp_path / "a.pcap"
    capture.write_bytes(pcap([GOOD]))
    capture.chmod(0o640)
    first, second = (carry("check", "--html", tmp_path / "page.html", tmp_path) for _ in range(2))
    assert (second.returncode, second.stderr) == (CLEAN, "")
    assert second.stdout == first.stdout
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o640


# --- In a browser ---

LOOK = """
const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c /= 255) <= 0.03928 ? c / 12.92
                                                         : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
    for (; element; element = element.parentElement) {
        const colour = parse(getComputedStyle(element).backgroundColor);
        if (colour.length === 3 || colour[3] > 0) return colour.slice(0, 3);
    }
    return [255, 255, 255];
};
let least = 21;
for (const element of document.querySelectorAll("body *")) {
    const text = Array.from(element.childNodes).some((n) => n.nodeType === 3 && n.data.trim());
    if (!text) continue;
    const a = light(parse(getComputedStyle(element).color).slice(0, 3)), b = light(behind(element));
    least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
}
return {
    width: document.documentElement.scrollWidth,
    room: innerWidth,
    contrast: least,
    dark: light(behind(document.body)) < 0.2,
};
"""


def test_page_in_a_browser(carry: Run, tmp_path: Path) -> None:
    """The page fits phones and desktops in light and dark mode, is readable, and loads nothing."""
    if missing := check_site.obstacle():
        pytest.skip(missing)
    long = tmp_path / ("y" * 200)
    long.mkdir()
    (long / "a.pcap").write_bytes(pcap([GOOD, PARTIAL, WRONG]))
    page_of(carry, tmp_path, long, SOURCE / "examples", status=DAMAGED)
    address = (tmp_path / "page.html").as_uri()
    with check_site.deadline(300), check_site.open_browser() as browser:
        for width in (320, 390, 1280):
            for scheme in ("light", "dark"):
                browser.execute_cdp_cmd(
                    "Emulation.setEmulatedMedia",
                    {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
                )
                browser.execute_cdp_cmd(
                    "Emulation.setDeviceMetricsOverride",
                    {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False},
                )
                browser.get(address)
                browser.execute_script("document.querySelector('details').open = true")
                look = browser.execute_script(LOOK)
                assert look["width"] <= look["room"], (width, scheme)
                assert look["contrast"] >= 4.5, (width, scheme)
                assert look["dark"] == (scheme == "dark")
                # An empty tab makes requests, too.
                asked = {url for url, _ in check_site.requests(browser)}
                assert {url for url in asked if not re.match("chrome:|data:", url)} == {address}
                assert [*check_site.messages(browser)] == []
