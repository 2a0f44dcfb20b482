# SPDX-License-Identifier: MIT
"""scripts/compare_code.py: comments may change, code may not, in every language of the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from carry_tool import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
import compare_code
import source_text

# A file's name, and two versions of it with the same code.
EQUAL = [
    ("a.c", "/* One. */\nint a; // b\n", "int\na;\n/* Another. */\n"),
    ("a.c", '#define A /* B\n*/ "x"\n', '#define A "x"\n'),
    ("a.c", 'f("one "\n  "two");', 'f("one two");'),
    ("a.c", "#define A(x) \\\n    x\n", "#define A(x) x // x\n"),
    ("a.c", "char a = '\"'; /* b */ char c = '\"';", "char a = '\"'; char c = '\"';"),
    ("a.S", "/* A. */\nmov x0, #1 // B\n\nret\n", "mov x0, #1\nret\n"),
    ("a.def", "/* A. */\nROW(a, b)\n", "ROW(a,\n    b)\n"),
    ("a.py", '"""A."""\nx = 1  # one\n', "x = (\n    1\n)\n"),
    ("a.py", 'def f():\n    """A."""\n', 'def f():\n    """B."""\n'),
    ("a.py", "a = 1  # like SPDX\n", "a = 1\n"),
    ("a.rs", "/// A.\nfn f<'a>() {} // b\n", "/// B.\nfn f<'a>() {}\n"),
    ("a.sh", "# A.\nif a; then\n    b # c\nfi\n", "if a; then\n  b\nfi\n"),
    ("meson.build", "# A.\na = 'b # c'\n", "a = 'b # c'  # d\n"),
    ("a.toml", '# A.\na = "b"\n', 'a = "b"\n'),
    ("a.yml", "# A.\na:\n  - b # c\n", "a:\n  - b\n"),
    ("Makefile", "# A.\na:\n\tb\n", "a:\n\tb\n"),
    ("a.go", "// A.\nvar a = `// b`\n", "var a = `// b`\n"),
    ("a.lua", "-- A.\nlocal a = 'b -- c'\n", "local a = 'b -- c' -- d\n"),
    ("a.md", "A.\n", "B.\n"),
    ("a.json", '{"a": 1}', '{ "a": 1 }'),
]
DIFFERENT = [
    ("a.c", "int a;", "int b;"),
    ("a.c", "a - -b", "a--b"),
    ("a.c", 'f("/* a */");', 'f("");'),
    ("a.c", 'f("a  b");', 'f("a b");'),
    ("a.c", "#define A 1\nint b;\n", "#define A 1 int b;\n"),
    ("a.c", "#define A(b)\n", "#define A (b)\n"),
    ("a.c", "/*@ ensures a; */ void f(void);", "/*@ ensures b; */ void f(void);"),
    ("a.acsl", "//@ assigns a;\n", "//@ assigns b;\n"),
    ("a.c", "/* clang-format off */ int a;", "int a;"),
    ("a.c", "a = b /* c; */ + 1;", "a = b /* c; + 1; */;"),
    ("a.S", "mov x0, #1\nret\n", "mov x0, #2\nret\n"),
    ("a.S", "#if A\nret\n", "#if B\nret\n"),
    ("a.S", "nop\nret\n", "nop ret\n"),
    ("a.def", "ROW(a, b)\n", "ROW(b, a)\n"),
    ("a.py", "x = 1\n", "x = 2\n"),
    ("a.py", 'x = "# a"\n', 'x = "# b"\n'),
    ("a.py", "import a  # noqa: F401\n", "import a\n"),
    ("a.py", "# SPDX-License-Identifier: MIT\n", "# SPDX-License-Identifier: BSD\n"),
    ("a.py", "if a:\n    b()\nc()\n", "if a:\n    b()\n    c()\n"),
    ("a.rs", 'f("// a");', 'f("// b");'),
    ("a.rs", 'f(r#"a"b // c"#);', 'f(r#"a"b // d"#);'),
    (
        "a.rs",
        "/// ```\n/// f(1);\n/// ```\nfn f() {}\n",
        "/// ```\n/// f(2);\n/// ```\nfn f() {}\n",
    ),
    ("a.sh", "a # b\n", "b # b\n"),
    ("a.sh", "cat <<E\n#include <a.h>\nE\n", "cat <<E\n#include <b.h>\nE\n"),
    ("a.sh", "a 'b # c'\n", "a 'b # d'\n"),
    ("a.sh", "#!/bin/sh\na\n", "#!/bin/bash\na\n"),
    ("a.sh", "# shellcheck disable=SC2086\na\n", "a\n"),
    ("meson.build", "a = 'b # c'\n", "a = 'b # d'\n"),
    ("a.toml", "a = 1\n", "a = 2\n"),
    ("a.yml", "a:\n  - b\n", "a:\n- c\n"),
    ("a.yml", "a:\n  b:\n  c: 1\n", "a:\n  b:\n    c: 1\n"),
    ("Makefile", "a:\n\tb\n", "a:\n\tc\n"),
    ("a.go", "var a = `// b`\n", "var a = `// c`\n"),
    ("a.lua", "local a = 'b -- c'\n", "local a = 'b -- d'\n"),
    ("a.json", '{"a": 1}', '{"a": 2}'),
    ("a.txt", "a\n", "b\n"),
    ("tests/a.c", 'f("a");', 'f("b");'),
]


@pytest.mark.parametrize(("name", "old", "new"), EQUAL)
def test_comments_and_white_space_may_change(name: str, old: str, new: str) -> None:
    assert compare_code.compare(name, old, new, False) is None


@pytest.mark.parametrize(("name", "old", "new"), DIFFERENT)
def test_code_must_not_change(name: str, old: str, new: str) -> None:
    for texts in (False, True):
        found = compare_code.compare(name, old, new, texts)
        assert found
        assert found.startswith("differs: ")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("tests/a.c", 'tap_ok(a, "one file");', 'tap_ok(a, "two "\n "files");'),
        ("scripts/a.py", 'f("one file")\n', 'f("two files")\n'),
        ("scripts/a.py", '"""A file."""\nf("one file")\n', '"""B file."""\nf("two files")\n'),
        ("scripts/a.py", 'f(f"{a} file")\n', 'f(f"{a} files of it")\n'),
    ],
)
def test_texts_may_change_where_that_is_asked_for(
    name: str, old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare_code.compare(name, old, new, False)
    assert compare_code.compare(f"src/{name}", old, new, True)
    assert compare_code.compare(name, old, new, True) is None
    assert capsys.readouterr().out.count(f"{name}: text ") == 2
    assert compare_code.compare(name, old, new.replace("(", "(0, "), True)


def git(folder: Path, *arguments: str) -> None:
    names = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", folder, *names, *arguments], check=True, capture_output=True)


def test_revisions(tmp_path: Path) -> None:
    """The working tree includes its new files. A file that only one revision contains differs."""

    def compared(*revisions: str) -> tuple[int, list[str]]:
        run = subprocess.run(
            [SOURCE / "scripts/compare_code.py", *revisions],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not run.stderr
        return run.returncode, run.stdout.splitlines()

    git(tmp_path, "init", "-q")
    (tmp_path / "a.c").write_text("/* A. */ int a;\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    (tmp_path / "a.c").write_text("int a;\n")
    assert compared("HEAD") == (0, ["1 changed files: the code of 0 differs"])
    git(tmp_path, "commit", "-qam", "two")
    (tmp_path / "a.c").write_text("int b;\n")
    (tmp_path / "b.c").write_text("")
    assert compared("HEAD~", "HEAD") == (0, ["1 changed files: the code of 0 differs"])
    assert compared("HEAD") == (
        1,
        [
            "a.c: differs: 'int a ;' -> 'int b ;'",
            "b.c: is only in the new revision",
            "2 changed files: the code of 2 differs",
        ],
    )


def test_the_pieces_of_each_file_are_the_file() -> None:
    names = subprocess.run(
        ["git", "ls-files"], cwd=SOURCE, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    known = 0
    for name in names:
        try:
            text = (SOURCE / name).read_text()
        except (UnicodeDecodeError, OSError):
            continue
        kind = source_text.kind_of(name, text)
        found = list(source_text.pieces(kind, text))
        assert "".join(piece.text for piece in found) == text
        known += len({piece.kind for piece in found}) == 3
    assert known > 100
