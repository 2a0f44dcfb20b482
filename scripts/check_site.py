#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens the pages of a site in a browser, and checks them, their links and the search.

usage: check_site.py SITE

Chromium runs without a window, and reaches only this script, which serves the files by HTTP. The
script reports files that do not load, scripts that fail, and requests to other hosts. It checks
that each link leads to a page, an element of a page, or a file. It lists addresses outside the
site, and fetches none. Then the search must find WORD.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag, urlsplit

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

WORD = "carry_sum_fold"
LOAD_SECONDS = 60
ALL_SECONDS = 900  # ends a check that hangs; on a slow or busy machine a check takes long, too
END_SECONDS = 30
STATIC = {"404.html", "search.html"}  # pages that need no link to them

OPTIONS = [
    "--headless=new",
    "--window-size=1280,900",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # No proxy listens on this port, so no request leaves this machine; loopback needs no proxy.
    "--proxy-server=127.0.0.1:9",
]

LOOK = """
const all = (what, get) => Array.from(document.querySelectorAll(what), get);
return {
    title: document.title.trim(),
    text: document.body ? document.body.innerText.trim() : "",
    anchors: all("[id], a[name]", (element) => element.id || element.name),
    links: all("a[href], area[href]", (element) => element.href),
};
"""


class SiteError(Exception):
    """Raised if the site cannot be checked. The message gives the reason."""


def obstacle() -> str:
    """Returns why no site can be opened here, or ""."""
    needed = {"chromium": "chromium", "chromedriver": "chromium-driver"}
    missing = [package for command, package in needed.items() if not shutil.which(command)]
    if not importlib.util.find_spec("selenium"):
        missing.append("python3-selenium")
    if missing:
        return f"not installed: {', '.join(missing)}"
    from selenium.common.exceptions import WebDriverException

    try:
        with open_browser():
            return ""
    except WebDriverException as error:
        return f"chromium does not start: {(error.msg or '').partition(chr(10))[0]}"


# --- Server and browser ---


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serve_folder(site: Path) -> Iterator[str]:
    """Serves the folder while the block runs; yields the address."""
    handler = functools.partial(Handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join(END_SECONDS)


@contextlib.contextmanager
def deadline(seconds: int) -> Iterator[None]:
    """Ends the block by an exception after `seconds`, even while it waits."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise SiteError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def end_processes(profile: str) -> None:
    """Ends the processes of a browser: those whose arguments name its profile, which is unique."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if profile.encode() in (entry / "cmdline").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)


@contextlib.contextmanager
def open_browser() -> Iterator[Chrome]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for option in [*OPTIONS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]:
        options.add_argument(option)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options.add_argument(f"--user-data-dir={profile}")
        service = Service(shutil.which("chromedriver") or "")
        browser = None
        try:
            browser = webdriver.Chrome(options=options, service=service)
            browser.set_page_load_timeout(LOAD_SECONDS)
            browser.set_script_timeout(LOAD_SECONDS)
            yield browser
        finally:
            with contextlib.suppress(Exception), deadline(END_SECONDS):
                browser.quit() if browser else service.stop()
            end_processes(profile)


# --- Pages ---


@dataclass
class Page:
    """The content of a page of the site, as the browser reports it."""

    title: str
    text: str
    anchors: set[str]
    links: list[str]


@dataclass
class Report:
    """The pages and links that were checked, and their errors."""

    pages: dict[str, Page] = field(default_factory=dict)
    links: int = 0
    foreign: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)


def requests(browser: Chrome) -> Iterator[tuple[str, str]]:
    """Yields the addresses requested since the last call, each with its error or ""."""
    asked = {}
    for entry in browser.get_log("performance"):
        message: dict[str, Any] = json.loads(entry["message"])["message"]
        name, about = message["method"], message["params"]
        if name == "Network.requestWillBeSent":
            asked[about["requestId"]] = about["request"]["url"]
            yield about["request"]["url"], ""
        elif name == "Network.responseReceived" and about["response"]["status"] >= 400:
            yield about["response"]["url"], f"status {about['response']['status']}"
        elif name == "Network.loadingFailed" and about["requestId"] in asked:
            yield asked[about["requestId"]], "" if about.get("canceled") else about["errorText"]


def messages(browser: Chrome) -> Iterator[str]:
    """Yields errors of scripts since the last call. requests() yields errors of loading."""
    for entry in browser.get_log("browser"):
        if entry["level"] == "SEVERE" and entry["source"] != "network":
            yield f"error: {entry['message']}"


def troubles(browser: Chrome, base: str) -> list[str]:
    """Returns all errors since the last call."""
    found = []
    for url, error in requests(browser):
        own = url.startswith(base) or urlsplit(url).scheme not in ("http", "https", "ws", "wss")
        if not own:
            found.append(f"asks another host: {url}")
        elif error:
            found.append(f"{url.removeprefix(base)} does not load: {error}")
    return [*dict.fromkeys(found), *messages(browser)]


def load_page(browser: Chrome, base: str, name: str) -> tuple[Page, list[str]]:
    """Loads a page; returns its content, and its own errors."""
    browser.get(base + name)
    seen = browser.execute_script(LOOK)
    page = Page(seen["title"], seen["text"], set(seen["anchors"]), seen["links"])
    found = troubles(browser, base)
    found += [f"has no {what}" for what in ("title", "text") if not getattr(page, what)]
    return page, [f"{name}: {trouble}" for trouble in found]


def local_file(site: Path, url: str, base: str) -> str:
    """Returns the file of the site that an address leads to."""
    path = unquote(urlsplit(url).path).removeprefix(urlsplit(base).path)
    return f"{path}index.html" if not path or path.endswith("/") else path


def follow_link(report: Report, site: Path, base: str, name: str, link: str) -> str:
    """Follows a link of a page; returns its error, or ""."""
    url, anchor = urldefrag(link)
    if not url.startswith(base):
        if urlsplit(url).scheme in ("http", "https", "mailto"):
            report.foreign.add(url)
            return ""
        return f"{name}: the link {link} cannot be followed"
    target = local_file(site, url, base)
    if target in report.pages:
        known = report.pages[target].anchors
        lacks = anchor and unquote(anchor) not in known
        return f"{name}: no element {target}#{anchor}" if lacks else ""
    return "" if (site / target).is_file() else f"{name}: no file {target}"


def follow_all(report: Report, site: Path, base: str) -> None:
    reached = {"index.html", *STATIC}
    for name, page in report.pages.items():
        for link in dict.fromkeys(page.links):
            report.links += 1
            trouble = follow_link(report, site, base, name, link)
            report.complaints += [trouble] if trouble else []
            if link.startswith(base):
                reached.add(local_file(site, urldefrag(link)[0], base))
    report.complaints += [f"{name}: no link leads there" for name in report.pages.keys() - reached]


def check_pages(browser: Chrome, site: Path, base: str) -> Report:
    report = Report()
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        report.pages[name], found = load_page(browser, base, name)
        report.complaints += found
    if not report.pages:
        raise SiteError(f"no pages in {site}")
    follow_all(report, site, base)
    return report


# --- Search ---


def check_search(browser: Chrome, base: str, word: str) -> list[str]:
    """Searches for `word` like a reader, and follows the first result; returns the errors."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

    browser.get(base)
    browser.find_element(By.CSS_SELECTOR, "[role=search] input[name=q]").send_keys(word, Keys.ENTER)
    results = (By.CSS_SELECTOR, "#mkdocs-search-results a")
    try:
        WebDriverWait(browser, LOAD_SECONDS).until(lambda b: b.find_elements(*results))
    except TimeoutException:
        return [f"the search finds no {word}", *troubles(browser, base)]
    browser.get(browser.find_element(*results).get_attribute("href"))
    text = browser.execute_script(LOOK)["text"]
    missing = [] if word in text else [f"the search for {word} leads to {browser.current_url}"]
    return missing + troubles(browser, base)


def check_site(site: Path, word: str = WORD) -> Report:
    with serve_folder(site) as base, open_browser() as browser:
        report = check_pages(browser, site, base)
        report.complaints += check_search(browser, base, word)
    return report


def run_check(site: Path) -> int:
    start = time.monotonic()
    with deadline(ALL_SECONDS):
        report = check_site(site)
    for address in sorted(report.foreign):
        print(f"not fetched: {address}")
    for complaint in report.complaints:
        print(complaint)
    print(
        f"{len(report.pages)} pages, {report.links} links, {len(report.complaints)} wrong, "
        f"in {time.monotonic() - start:.0f} s"
    )
    return 1 if report.complaints else 0


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: check_site.py SITE", file=sys.stderr)
        return 2
    if missing := obstacle():
        print(f"check_site.py: skipped, {missing}")
        return 0
    from selenium.common.exceptions import WebDriverException

    try:
        return run_check(Path(sys.argv[1]).resolve())
    except (SiteError, WebDriverException, OSError) as error:
        print(f"check_site.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
