#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens each page of the manual's site in a browser without a screen, and follows each link.

usage: check_site.py SITE

A complaint is a link to nothing, an anchor that its page lacks, a page that no link reaches, that
has no title or no text, that logs an error or asks another host for anything; and a search that
finds nothing. No other host can be reached.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urldefrag

BROWSER, DRIVER = "chromium", "chromedriver"
OPTIONS = [
    "--headless=new",
    "--no-sandbox",  # which root lacks
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
SECONDS = 60  # for a page, on a busy machine
START = "index.html"
SEARCH = "search.html"
UNLINKED = {"404.html", SEARCH}
WORD = "carry_sum_fold"

PAGE = """
const links = [...document.querySelectorAll("a[href]")].map(a => a.href);
const anchors = [...document.querySelectorAll("[id], a[name]")].map(e => e.id || e.name);
return {title: document.title, size: document.body.innerText.trim().length,
        links: [...new Set(links)], anchors: anchors};
"""
RESULTS = """
const found = [...document.querySelectorAll("#mkdocs-search-results a")];
return found.map(a => a.href);
"""


def obstacle() -> str:
    """Why no page can be opened here, or nothing."""
    missing = [name for name in (BROWSER, DRIVER) if not shutil.which(name)]
    if not importlib.util.find_spec("selenium"):
        missing.append("python3-selenium")
    if missing:
        return f"not installed: {', '.join(missing)}"
    from selenium.common.exceptions import WebDriverException

    try:
        with browser():
            return ""
    except WebDriverException as error:
        return f"{BROWSER} does not start: {(error.msg or '').partition(chr(10))[0]}"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def served(site: Path) -> Iterator[str]:
    """The site on a port of this machine; its address."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


@contextlib.contextmanager
def browser() -> Iterator[object]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(prefix="carry-site-", ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which(BROWSER) or ""
        for option in [*OPTIONS, f"--user-data-dir={profile}"]:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(service=Service(shutil.which(DRIVER)), options=options)
        try:
            driver.set_page_load_timeout(SECONDS)
            driver.set_script_timeout(SECONDS)
            yield driver
        finally:
            driver.quit()


@dataclass
class Page:
    anchors: set[str]
    links: dict[str, set[str]]  # pages of the site, each with the anchors that are asked for


@dataclass
class Check:
    """A walk over a site, from its first page."""

    site: Path
    address: str
    driver: object
    pages: dict[str, Page] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def complain(self, page: str, text: str) -> None:
        self.complaints.append(f"{page}: {text}")

    def errors(self) -> list[str]:
        logged = self.driver.get_log("browser")
        return [each["message"] for each in logged if each["level"] in ("SEVERE", "WARNING")]

    def open(self, name: str) -> None:
        """Loads a page, and notes where it leads."""
        self.driver.get(self.address + name)
        found = self.driver.execute_script(PAGE)
        for message in self.errors():
            self.complain(name, f"logs {message}")
        if not found["title"] or found["size"] < 20:
            self.complain(name, "has no title or no text")
        page = Page({*found["anchors"]}, {})
        for link in found["links"]:
            self.note(page, link)
        self.pages[name] = page

    def note(self, page: Page, link: str) -> None:
        target, anchor = urldefrag(link)
        if not target.startswith(self.address):
            return
        name = unquote(target.removeprefix(self.address).partition("?")[0]) or START
        page.links.setdefault(name, set()).add(unquote(anchor))

    def walk(self) -> None:
        waiting = [START]
        while waiting:
            name = waiting.pop()
            if name in self.pages or not name.endswith(".html") or not self.is_there(name):
                continue
            self.open(name)
            waiting += self.pages[name].links

    def is_there(self, name: str) -> bool:
        return (self.site / name).is_file()

    def check_links(self) -> None:
        for name, page in self.pages.items():
            for target, anchors in page.links.items():
                if not self.is_there(target):
                    self.complain(name, f"leads to {target}, which is not there")
                elif target in self.pages:
                    for anchor in anchors - self.pages[target].anchors - {""}:
                        self.complain(name, f"leads to {target}#{anchor}, which is not there")

    def check_all_are_reached(self) -> None:
        every = {str(path.relative_to(self.site)) for path in self.site.rglob("*.html")}
        for name in sorted(every - {*self.pages} - UNLINKED):
            self.complain(name, "no link leads there")

    def check_search(self) -> None:
        from selenium.common.exceptions import TimeoutException
        from selenium.webdriver.support.ui import WebDriverWait

        self.driver.get(self.address)
        self.errors()  # known of this page
        box = self.driver.find_element("css selector", "[role=search] input[name=q]")
        box.send_keys(WORD, "\n")
        try:
            wait = WebDriverWait(self.driver, SECONDS)
            results = wait.until(lambda driver: driver.execute_script(RESULTS))
        except TimeoutException:
            self.complain(SEARCH, f"does not find {WORD}")
            return
        for message in self.errors():
            self.complain(SEARCH, f"logs {message}")
        for link in results[:3]:
            self.driver.get(link)
            if WORD not in self.driver.execute_script("return document.body.innerText"):
                self.complain(SEARCH, f"{link} does not say {WORD}")

    def run(self) -> None:
        self.errors()  # of an earlier site
        self.walk()
        self.check_links()
        self.check_all_are_reached()
        self.check_search()


def check(site: Path) -> Check:
    with served(site) as address, browser() as driver:
        result = Check(site, address, driver)
        result.run()
    return result


def main() -> int:
    if len(sys.argv) != 2 or not os.path.isfile(f"{sys.argv[1]}/{START}"):
        print("usage: check_site.py SITE", file=sys.stderr)
        return 2
    if missing := obstacle():
        print(f"check_site.py: {missing}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the browser ends, too
    done = check(Path(sys.argv[1]).resolve())
    print(*done.complaints, sep="\n", end="\n" * bool(done.complaints))
    links = sum(len(anchors) for page in done.pages.values() for anchors in page.links.values())
    print(f"{len(done.pages)} pages, {links} links: {len(done.complaints)} complaints")
    return 1 if done.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
