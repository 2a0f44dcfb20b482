# SPDX-License-Identifier: MIT
"""Manual pages and pages of the site are generated from headers without loss."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from carry_tool import SOURCE
from test_manual import need

sys.path.insert(0, str(SOURCE / "scripts"))
from manual import headers, markdown, prose, roff

HEADERS = {path.name: headers.read_header(path) for path in headers.public_headers()}
PAGES = roff.pages(headers.public_headers(), "2026-01-31")
EACH_HEADER = pytest.mark.parametrize("name", HEADERS)

# Macros that expand where they are used, so that no library contains them.
MACROS = {
    *("CARRY_OP", "CARRY_OP_DEFINE", "CARRY_OP_DEFINE_RESOLVED", "CARRY_OP_NOTHING"),
    *("CARRY_OP_EXPORT", "CARRY_OP_IMPORT", "carry_call", "carry_set", "carry_get"),
    *("CARRY_KEY", "CARRY_KEY_DEFINE", "CARRY_KEY_STATIC", "CARRY_KEY_EXPORT", "CARRY_KEY_IMPORT"),
    *("carry_unlikely", "carry_likely", "carry_enable", "carry_disable", "CARRY_PATCH_OBJECT"),
    *("CARRY_ALT", "CARRY_ALT_KEY", "CARRY_ALT_ONE", "CARRY_ALT_KEY_ONE", "CARRY_ALT_INPUT"),
    *("CARRY_BODY", "CARRY_BODY_RELATIVE", "CARRY_BODY_SEVERAL"),
    *(
        "CARRY_VERSION_OF",
        "CARRY_XSTATE_BIT",
        "CARRY_THUNK",
        "CARRY_THUNK_AROUND",
        "CARRY_THUNK_ANY",
        "CARRY_HOOK_ENTRIES",
    ),
}


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def plain(page: str) -> str:
    """Returns the text of a page without its fonts."""
    text = re.sub(r"^\.(TP|PP|RS|RE|nf|fi|IP|SH|nh|ad|BR|TH).*\n", "", page, flags=re.M)
    return re.sub(r"\\f[BIP]|\\&|\\\(..|\\[-e]", lambda m: "" if m[0][1] in "f&" else " ", text)


def has_words(page: str, comment: str) -> bool:
    """Checks whether a page contains the words of a comment, with no others in between."""
    said, shown = words(comment), words(plain(page))
    return any(shown[at : at + len(said)] == said for at in range(len(shown)))


def page(name: str) -> str:
    """Returns a page by one of its names."""
    text = PAGES[name]
    if other := re.fullmatch(r"\.so man3/(\w+)\.3\n", text):
        return PAGES[other[1]]
    return text


# --- Pages ---


def test_each_exported_symbol_has_a_page() -> None:
    exported = {
        name
        for record in (SOURCE / "abi").glob("*/*.abi")
        for name in re.findall(r"<elf-symbol name='(carry_\w+)'", record.read_text())
    }
    assert len(exported) > 150
    own = {roff.page_of(header) for header in HEADERS.values()}
    assert {*PAGES} == exported | MACROS | own


@pytest.mark.parametrize("name", sorted(PAGES))
def test_page_names_and_describes_its_symbols(name: str) -> None:
    text = page(name)
    names, _, brief = re.search(r"^\.SH NAME\n(.*) \\- (.*)$", text, re.M)[0].partition(" \\- ")
    assert name in words(names) or name in names.split()[-1]
    assert len(words(brief)) > 1 or brief in ("libcarry",)
    assert len(plain(text.partition("\n.SH DESCRIPTION\n")[2]).split()) > 3


@EACH_HEADER
def test_pages_contain_all_comments(name: str) -> None:
    header = HEADERS[name]
    own = PAGES[roff.page_of(header)]
    assert has_words(own, header.overview)
    for entry in header.entries:
        if entry.callables():
            assert has_words(page(next(iter(entry.callables()))), entry.comment)
        elif entry.of("type", "macro"):
            assert has_words(own, entry.comment)


@EACH_HEADER
def test_members_keep_their_comments(name: str) -> None:
    own = PAGES[roff.page_of(HEADERS[name])]
    types = [one for entry in HEADERS[name].entries for one in entry.of("type")]
    for one in types:
        for comment in headers.COMMENT.findall(one.code):
            assert has_words(own, headers.text_of(comment))


@EACH_HEADER
def test_each_function_has_a_comment(name: str) -> None:
    header = HEADERS[name]
    for entry in header.entries:
        assert not entry.callables() or entry.comment, f"{[*entry.callables()]} have none"


def test_no_warnings(tmp_path: Path) -> None:
    """mandoc and groff have no warnings about the pages."""
    paths = []
    for name, text in PAGES.items():
        if not text.startswith(".so"):
            paths.append(tmp_path / f"{name}.3")
            paths[-1].write_text(text)
    for command in (["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-man", "-ww", "-z"]):
        need(command[0])
        done = subprocess.run([*command, *paths], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# --- Reading ---


def header_of(tmp_path: Path, text: str) -> headers.Header:
    path = tmp_path / "some.h"
    path.write_text(
        f"/* SPDX */\n/*\n * What it is for.\n */\n#ifndef A_H\n#define A_H\n{text}\n#endif\n"
    )
    return headers.read_header(path)


def test_comments_describe_what_follows(tmp_path: Path) -> None:
    """A comment describes all that follows without an empty line; inline functions have comments of
    their own."""
    header = header_of(
        tmp_path,
        """
#ifdef __cplusplus
#define CARRY_OTHER 7
#else
#define CARRY_LIMIT 8
#endif
/* --- Calls --- */

/* Of all of them. */

/* Two. */
CARRY_API int carry_a(void (*f)(void), char *p);
CARRY_API extern const char carry_b[];

CARRY_API void carry_c(void) __attribute__((noreturn));

/* Inline. */
CARRY_API_INLINE int carry_d(int n) {
    return (n); /* } */
}

CARRY_API_INLINE int carry_e(void) {
    return '{';
}

/*
 * carry_use(name)   uses it.
 */
#define carry_use(name) carry_use_##name
#define CARRY_INNER(name) name
""",
    )
    assert header.overview == "What it is for."
    found = [(entry.comment, entry.callables()) for entry in header.entries]
    assert found == [
        ("", {}),
        ("Of all of them.", {}),
        (
            "Two.",
            {
                "carry_a": "int carry_a(void (*f)(void), char *p);",
                "carry_b": "const char carry_b[];",
            },
        ),
        ("", {"carry_c": "void carry_c(void);"}),
        ("Inline.", {"carry_d": "int carry_d(int n);", "carry_e": "int carry_e(void);"}),
        ("carry_use(name)   uses it.", {"carry_use": "carry_use(name)"}),
    ]
    assert [one.name for one in header.entries[0].declarations] == ["CARRY_LIMIT"]
    assert header.notes("Calls") == ["Of all of them."]


@pytest.mark.parametrize("text", ["CARRY_API int carry_a(void)", "CARRY_API int;"])
def test_unreadable_header_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(headers.HeaderError):
        header_of(tmp_path, f"/* It. */\n{text}")


def test_rows_of_tables_are_enumerators() -> None:
    code = {one.name: one.code for entry in HEADERS["base.h"].entries for one in entry.of("type")}
    table = (headers.FOLDER / "errors.def").read_text()
    rows = re.findall(r'^CARRY_ERROR\((\w+), (-?\d+), "(.*)"\)$', table, re.M)
    assert len(rows) > 10
    for name, number, text in rows:
        assert f"    {name} = {number}, /* {text} */\n" in code["carry_error"]


def test_comments_as_blocks() -> None:
    """A comment is parsed into paragraphs, terms, code and lists."""
    blocks = prose.parse(
        "Some text\nof two lines. Returns\n ERROR_A  first\n          line\n ERROR_B  second\n\n"
        "Then:\n\n    code;\n\n      more;\n\n - one\n   item\n    - inner\n - two"
    )
    text, terms, then, code, items = blocks
    assert text.text == "Some text of two lines. Returns"
    assert terms.terms == ["ERROR_A", "ERROR_B"]
    assert [part[0].text for part in terms.parts] == ["first line", "second"]
    assert (then.text, code.kind, code.text) == ("Then:", "code", "code;\n\n  more;")
    assert [part[0].text for part in items.parts] == ["one item", "two"]
    assert items.parts[0][1].parts[0][0].text == "inner"


def test_text_is_escaped_for_roff() -> None:
    """Dots and quotes at the beginning of a line, and backslashes, are text, too."""
    assert roff.line(".br \\n -O2 a-b `x-y` 'z") == "\\&.br \\en \\-O2 a-b \\fBx\\-y\\fP 'z"
    assert roff.line("'a") == "\\&'a"


# --- Pages of the site ---


def unmarked(page: str) -> str:
    """Returns the text of a Markdown page, except headings."""
    text = re.sub(r"\]\([\w.#]+\)|^#.*$|^```c$", "", page, flags=re.M)
    return re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), text)


@EACH_HEADER
def test_the_site_contains_all_comments(name: str) -> None:
    shown = unmarked(markdown.header_page(headers.FOLDER / name))
    header = HEADERS[name]
    described = [entry.comment for entry in header.entries if markdown.names_of(entry)]
    for comment in [header.overview, *described]:
        assert has_words(shown, comment)


@EACH_HEADER
def test_links_of_the_site_lead_to_headings(name: str) -> None:
    for stem, anchor in re.findall(
        r"\]\((\w+)\.md#(\w+)\)", markdown.header_page(headers.FOLDER / name)
    ):
        target = markdown.header_page(headers.FOLDER / f"{stem}.h")
        assert f'<a id="{anchor}">' in target or f"{{ #{anchor} }}" in target
