# SPDX-License-Identifier: MIT
"""The pages of the manual's site, and where they are in it.

Documents keep their places, so that their links work in the site as in the repository. Notebooks
are documents: their pages show what is stored in them. A link to a header, a schema, a manual page
or other text leads to a page made from the file; a link to a folder leads to a list of its files.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from . import markdown, notebook, schemas

ROOT = Path(__file__).resolve().parent.parent.parent
INDEX = "docs/index.md"
NOTEBOOK = ".ipynb"
REFERENCE = "docs/reference/index.md"
MANDOC_SECONDS = 60

FENCED = re.compile(r"(^```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
LINK = r"(?P<before>!?\[(?P<text>[^\]]*)\]\()(?P<target>[^)\s]+)\)"
CODE = r"(?P<ticks>`+)(?P<code>(?:(?!\n\n).)+?)(?P=ticks)"
LINK_OR_CODE = re.compile(f"{LINK}|{CODE}", re.DOTALL)
LINKED = re.compile(LINK)

LANGUAGES = {".c": "c", ".h": "c", ".def": "c", ".S": "gas", ".cc": "cpp", ".py": "python"}
LANGUAGES |= {".json": "json", ".sh": "sh"}


class SiteError(Exception):
    """Raised if the site cannot be made. The message gives the reason."""


# --- Pages made from files ---


def text_of(path: Path) -> str | None:
    """Returns the text of a file, or None if it is not text."""
    data = path.read_bytes()
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def file_page(path: Path) -> str:
    """Returns a page that shows a file unchanged."""
    language = LANGUAGES.get(path.suffix, "text")
    fence = "```"
    text = path.read_text()
    while f"\n{fence}" in f"\n{text}":
        fence += "`"
    return f"# {path.relative_to(ROOT)}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def folder_page(path: Path) -> str:
    """Returns a page that lists the folders in a folder, and its files with links."""
    own = sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", "__")))
    lines = [f"- `{entry.name}/`" for entry in own if entry.is_dir()]
    lines += [f"- [{entry.name}]({entry.name})" for entry in own if entry.is_file()]
    return f"# {path.relative_to(ROOT)}/\n\n" + "\n".join(lines) + "\n"


def manual_links(text: str, own: str) -> str:
    """Returns text in which the names of other manual pages are links."""

    def link(found: re.Match[str]) -> str:
        name = found[1]
        known = (ROOT / f"docs/man/{name}.1").is_file() and name != own
        return f'<a href="{name}.html">{found[0]}</a>' if known else found[0]

    return re.sub(r"<b>(carry(?:-\w+)?)</b>\(1\)", link, text)


def manual_page(path: Path) -> str:
    """Returns a manual page, as mandoc renders it. Its headings become headings of Markdown, for
    the list of contents and the search."""
    made = subprocess.run(
        ["mandoc", "-T", "html", "-O", "fragment", path],
        capture_output=True,
        text=True,
        timeout=MANDOC_SECONDS,
        check=True,
    ).stdout
    body = made.split('<div class="manual-text">', 1)[1].split('<table class="foot">', 1)[0]
    body = body.rstrip().removesuffix("</div>")
    body = re.sub(r"</?section[^>]*>\n?", "\n", body)
    for level in (1, 2):
        heading = rf"<h{level}[^>]*>(?:<a[^>]*>)?(.*?)(?:</a>)?</h{level}>"
        body = re.sub(heading, rf"\n\n{'#' * (level + 1)} \1\n\n", body, flags=re.DOTALL)
    return f"# {path.stem}(1)\n\n{manual_links(body, path.stem)}\n"


class Kind(NamedTuple):
    """Files that become pages: a pattern, the folder of their pages, and the function that makes
    them. The reference lists them under a heading."""

    pattern: str
    folder: str
    heading: str
    make: Callable[[Path], str]


HEADERS = Kind("include/carry/*.h", "docs/reference/headers", "Headers", markdown.header_page)
COMMANDS = Kind("docs/man/*.1", "docs/reference/man", "Commands", manual_page)
JSON = Kind("docs/schema/*.json", "docs/reference/json", "JSON", schemas.page)
KINDS = [HEADERS, COMMANDS, JSON]


def kind_of(source: str) -> Kind | None:
    return next((kind for kind in KINDS if PurePosixPath(source).match(kind.pattern)), None)


def page_of(source: str) -> str:
    """Returns where a file or folder of the repository is in the site, with its anchor if any."""
    kind = kind_of(source)
    if kind:
        return f"{kind.folder}/{PurePosixPath(source).stem}.md"
    for kind in KINDS:
        if source == str(PurePosixPath(kind.pattern).parent):
            return f"{REFERENCE}#{kind.heading.lower()}"
    path = ROOT / source
    if path.is_dir():
        return f"{source}/index.md"
    if path.suffix == NOTEBOOK:
        return str(PurePosixPath(source).with_suffix(".md"))
    if path.suffix == ".md" or text_of(path) is None:
        return source
    return f"{source}.md"


# --- Documents ---


def named(code: str) -> str | None:
    """Returns the file that a code span names, if it should be a link."""
    if re.fullmatch(r"carry/\w+\.h", code):
        path = f"include/{code}"
    elif re.fullmatch(r"man carry(-\w+)?", code):
        path = f"docs/man/{code.removeprefix('man ')}.1"
    elif re.fullmatch(r"examples/\w+\.\w+", code):
        path = code
    else:
        return None
    return path if (ROOT / path).is_file() else None


def dialect(prose: str) -> str:
    """Returns Markdown for the generator: nested lists are indented by four columns, and code spans
    hold no escaped bars."""
    prose = re.sub(r"^ {2,3}(?=\S)", "    ", prose, flags=re.MULTILINE)
    return re.sub(CODE, lambda span: span[0].replace(r"\|", "|"), prose, flags=re.DOTALL)


class Links:
    """Rewrites the links of one document, and collects which files they lead to."""

    def __init__(self, source: str) -> None:
        self.base = PurePosixPath(source).parent
        self.page = PurePosixPath(page_of(source)).parent
        self.source = source
        self.wanted: list[str] = []

    def to(self, source: str, anchor: str = "") -> str:
        """Returns the link from this document's page to the page of another file."""
        self.wanted.append(source)
        page, _, own = page_of(source).partition("#")
        anchor = anchor or own
        return os.path.relpath(page, self.page) + (f"#{anchor}" if anchor else "")

    def follow(self, target: str) -> str:
        name, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:") or not name:
            return target
        path = os.path.normpath(self.base / name)
        if path.startswith("..") or not (ROOT / path).exists():
            raise SiteError(f"{self.source}: {target} is not there")
        return self.to(path, anchor)

    def replace(self, found: re.Match[str]) -> str:
        if found["target"]:
            return f"{found['before']}{self.follow(found['target'])})"
        file = named(found["code"])
        return f"[{found[0]}]({self.to(file)})" if file and file != self.source else found[0]

    def rewrite(self, text: str) -> str:
        parts = FENCED.split(text)
        parts[::2] = [dialect(LINK_OR_CODE.sub(self.replace, prose)) for prose in parts[::2]]
        return "".join(parts)


class Stage:
    """The folder that the generator reads: documents, and all files that they link to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: set[str] = set()

    def write(self, page: str, content: str) -> None:
        path = self.folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def put(self, source: str) -> list[str]:
        """Writes the page of a file or folder; returns the files and folders that it links to."""
        path, page, kind = ROOT / source, page_of(source), kind_of(source)
        if "#" in page:
            return []  # that page exists anyway
        if kind:
            self.write(page, kind.make(path))
            return []
        if path.suffix in (".md", NOTEBOOK):
            links = Links(source)
            text = notebook.text(path) if path.suffix == NOTEBOOK else path.read_text()
            self.write(page, links.rewrite(text))
            return links.wanted
        if path.is_dir():
            links = Links(f"{source}/index")
            self.write(page, links.rewrite(folder_page(path)))
            return links.wanted
        if page == source:
            (self.folder / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, self.folder / page)
        else:
            self.write(page, file_page(path))
        return []

    def put_all(self, sources: list[str]) -> None:
        while sources:
            source = sources.pop()
            if source not in self.done:
                self.done.add(source)
                sources += self.put(source)


# --- Navigation ---


def matches(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))


def documents() -> list[str]:
    return [*matches("*.md"), *matches("docs/**/*.md")]


def targets(source: str, text: str) -> Iterator[str]:
    """Yields the targets of links in a part of a document, in its order."""
    for found in LINKED.finditer(text):
        name = found["target"].partition("#")[0]
        if name and "://" not in name:
            yield os.path.normpath(PurePosixPath(source).parent / name)


def by_index(sources: list[str]) -> list[str]:
    """Returns documents in the order in which the index names them, then all others."""
    order = list(targets(INDEX, (ROOT / INDEX).read_text()))
    return sorted(sources, key=lambda name: order.index(name) if name in order else len(order))


def modules() -> list[str]:
    """Returns the manuals of modules that the README lists."""
    table = (ROOT / "README.md").read_text().partition("\n## Modules\n")[2].partition("\n## ")[0]
    return list(dict.fromkeys(targets("README.md", table)))


def tutorials() -> list[str]:
    """Returns the pages of tutorials; some are notebooks."""
    sources = [*matches("docs/tutorial/*.md"), *matches(f"docs/tutorial/*{NOTEBOOK}")]
    return [page_of(source) for source in by_index(sources)]


def of_kind(kind: Kind) -> list[str]:
    return [page_of(source) for source in matches(kind.pattern)]


def navigation() -> list[dict[str, object]]:
    own = modules()
    others = [name for name in matches("docs/*.md") if name not in [*own, INDEX]]
    return [
        {"Home": "README.md"},
        {"Start here": INDEX},
        {"Tutorials": tutorials()},
        {"How-tos": by_index(matches("docs/howto/*.md"))},
        {"Modules": own},
        {
            "Reference": [
                {"Overview": REFERENCE},
                "docs/reference/python.md",
                "docs/reference/link-types.md",
                "docs/reference/glossary.md",
            ]
        },
        *({kind.heading: of_kind(kind)} for kind in KINDS),
        {
            "Explanation": by_index(
                [*matches("docs/explanation/*.md"), "docs/explanation/decisions/index.md", *others]
            )
        },
        {"Project": ["NEWS.md", "CONTRIBUTING.md", "SECURITY.md", page_of("LICENSE")]},
    ]
