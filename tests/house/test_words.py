# SPDX-License-Identifier: MIT
"""scripts/check_style.py refuses phrases, beginnings of comments, and names of tests."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from carry_tool import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
import check_style
import check_words
from check_words import RULES, TERMS, Rule

VERB, NOUN = check_words.VERB, check_words.NOUN


def found(name: str, text: str, strings: bool = True) -> list[tuple[int, str]]:
    return check_words.complaints(name, text, strings)


# How comments begin and continue on the next line; a document has no comments.
COMMENTS = {
    "a.md": ("It ", "\n"),
    "a.c": ("/* It ", "\n * "),
    "a.cc": ("// It ", "\n// "),
    "a.py": ("# It ", "\n# "),
    "a.rs": ("/// It ", "\n/// "),
    "a.sh": ("# It ", "\n# "),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.wrong.replace(" ", "-"))
def test_a_phrase_is_refused_in_prose_and_comments(rule: Rule) -> None:
    """A phrase is refused in capitals and across lines, too; code and the right words are not."""
    for name, (begin, blank) in COMMENTS.items():
        end = " */\nint a;\n" if name == "a.c" else "\n"
        for wrong in (rule.wrong, rule.wrong.replace(" ", blank), rule.wrong.upper()):
            if wrong.isupper() and "(?-i:" in rule.pattern:
                continue
            complaints = [said for _, said in found(name, f"{begin}{wrong}{end}", strings=False)]
            assert len(complaints) == 1
            assert complaints[0].split('"')[1].lower() in rule.wrong.lower()
            assert complaints[0].endswith(f'": say "{rule.instead}"')
        assert found(name, f"{begin}{rule.right}{end}") == []
        assert found(name, f"{begin}`{rule.wrong}`{end}") == []
    assert found("a.md", f"A.\n```\n{rule.wrong}\n```\n") == []


def test_a_phrase_may_not_wrap_around_code() -> None:
    assert found("a.c", "int a; /* all but */\nint b; /* for one */\n") == []
    assert found("a.c", "/* all but\n   for one */\n") == [(1, '"but for": say "except"')]
    assert found("a.py", "# all but\n# for one\n") == [(1, '"but for": say "except"')]


def test_the_terms_are_in_the_glossary() -> None:
    terms = re.findall(r"^\| ([^|]+) \|", (SOURCE / "docs/reference/glossary.md").read_text(), re.M)
    assert {rule.instead.partition(",")[0] for rule in TERMS} <= {*terms}


def test_messages_must_not_use_what_terms_replace() -> None:
    """A text may continue on the next line. Names and data, which have no blank, are not texts."""
    code = """a = whoever + 'w';
f("all but\\n"
  "for \\"it\\"", "whoever");
f("whoever asks"); // b
"""
    complaints = [
        (2, '"but for": say "except"'),
        (4, '"whoever": say "caller, thread, user, ..."'),
    ]
    assert found("a.c", code) == complaints
    assert found("a.c", code, strings=False) == []
    assert found("a.py", "a = whoever\nf('whoever')\nf(f'whoever {a}')\n") == [
        (3, '"whoever": say "caller, thread, user, ..."')
    ]


# Comments of functions, with a name, and their first words that are refused.
FUNCTIONS = [
    ("a.c", "/* What it reads. */\nint f(void);", "What"),
    ("a.c", "/*\n * Who reads it.\n */\nstatic struct a *f(int b,\n    int c) {\n}", "Who"),
    ("a.h", "/* Whose turn it is. */\nstatic inline int f(void) {", "Whose"),
    ("a.h", "/* Of a file. */\nCARRY_API const char *f(int a);", "Of"),
    ("a.cc", "// As f().\nbool A::g(int a) const {", "As"),
    ("a.c", "/* The same for a file. */\nint f(void);", "The same"),
    ("a.c", "/* Whether it is there. */\n#define F(a) a", "Whether"),
    ("a.py", 'def f():\n    """How it is read."""', "How"),
    ("a.py", '@a\nasync def f():\n    """That it is read."""', "That"),
    ("a.rs", "/// Where it is.\n#[inline]\npub(crate) unsafe fn f() {}", "Where"),
    ("a.sh", "# Why it fails.\nf() {\n:\n}", "Why"),
    ("a.go", "// Which it is.\nfunc f() {}", "Which"),
    ("a.lua", "-- What it is.\nlocal function f()\nend", "What"),
    ("a.c", "/* Is it there? */\nbool f(void);", "Is it there?"),
    ("a.py", 'def test_f():\n    """Whether it is there."""', "Whether"),
    ("a.py", 'def test_f():\n    """Where it is."""', "Where"),
]
RIGHT = [
    ("a.c", "/* Returns what it reads. */\nint f(void);"),
    ("a.c", "/* Does nothing. Is it there? */\nint f(void);"),
    ("a.h", "/* The value to store. */\nint f(void);"),
    ("a.c", "/* Why it fails. */\nenum a {"),
    ("a.c", "/* As in f(). */\nint a;"),
    ("a.c", "    /* Where it is full, it wraps. */\n    f(a);"),
    ("a.c", "    /* As in f(). */\n    return f(a);"),
    ("a.c", "/* Of course it is. */\nint a;"),
    ("a.c", "int a; /* what it reads */\nint b; /* of a file */"),
    ("a.c", "    /* What if it is full? */\n    f(a);"),
    ("a.py", "# How it works: by f().\na = 1"),
    ("a.py", 'def test_f():\n    """Where it is full, it wraps."""'),
    ("a.py", 'def test_f():\n    """Of two files, the first one counts."""'),
    ("a.c", "/* As inetd does it: both are one socket. */\nstatic void test_f(void) {"),
]
OTHERS = [
    ("a.c", "// What it reads,\n// and who.\nint a;", "What"),
    ("a.c", "    /* Who waits is not seen. */\n    f(a);", "Who"),
    ("a.c", "int a; /* who waits for it */", "who"),
    ("a.c", "/* Of a file. */\nstruct a {", "Of"),
    ("a.py", "# The same without a.\nA = 1", "The same"),
    ("a.S", "/* What it reads. */\nFUNCTION f\n", "What"),
    ("meson.build", "# What it builds.\na = 1\n", "What"),
    ("a.py", '# SPDX\n"""What it is for."""\n', "What"),
    ("a.c", "/* SPDX */\n/* What it is for. */\n", "What"),
]


@pytest.mark.parametrize(("name", "text", "first"), FUNCTIONS)
def test_a_comment_of_a_function_begins_with_a_verb(name: str, text: str, first: str) -> None:
    assert [said for _, said in found(name, text + "\n")] == [f'"{first}": {VERB}']


@pytest.mark.parametrize(("name", "text", "first"), OTHERS)
def test_any_comment_begins_with_a_noun_or_a_verb(name: str, text: str, first: str) -> None:
    assert [said for _, said in found(name, text + "\n")] == [f'"{first}": {NOUN}']


@pytest.mark.parametrize(("name", "text"), RIGHT)
def test_good_beginnings_are_not_refused(name: str, text: str) -> None:
    assert found(name, text + "\n") == []


def test_names_of_tests() -> None:
    text = "def test_what_is_read() -> None:\n    pass\n\n\ndef test_a_twin() -> None:\n    pass\n"
    assert found("a.py", text) == [
        (1, f"test_what_is_read: {NOUN}"),
        (5, 'test_a_twin: "twin": say "mutant"'),
    ]
    assert found("a.c", "static void test_of_files(void) {\n") == [(1, f"test_of_files: {NOUN}")]
    assert found("a.py", "def test_whatever_is_read() -> None:\n    pass\n") == []


def test_all_files_are_checked_or_those_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_check(*arguments: str) -> tuple[int, list[str]]:
        monkeypatch.setattr(sys, "argv", ["check_style.py", *arguments])
        return check_style.main(), capsys.readouterr().out.splitlines()

    spdx = "/* SPDX-License-Identifier: MIT */\n"
    wrong, right = tmp_path / "a/b.c", tmp_path / "c.c"
    wrong.parent.mkdir()
    wrong.write_text(f"{spdx}/* What it reads. */\nint a;\n")
    right.write_text(f"{spdx}int a; \n")
    monkeypatch.setattr(check_style, "ROOT", tmp_path)
    monkeypatch.setattr(check_style, "sources", lambda: iter([wrong, right]))
    complaint = f'a/b.c:2: "What": {NOUN}'
    blank = "c.c:2: white space at the end"
    assert run_check() == (1, [complaint, blank, "2 complaints"])
    monkeypatch.chdir(tmp_path)
    assert run_check("--comments", "a") == (1, [complaint, "1 complaints"])
    assert run_check("--comments", "c.c") == (0, ["0 complaints"])
