# SPDX-License-Identifier: MIT
"""The binding for LuaJIT: its declarations, its functions, and its example."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from carry_tool import SOURCE

pytestmark = pytest.mark.of_compilers

BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build")).resolve()
BINDING = SOURCE / "bindings/luajit"
HEADERS = "#include <carry/packet.h>\n#include <carry/sum.h>\n#include <carry/jit.h>\n"

# Functions of <carry/jit.h> that Lua programs do not need.
UNDECLARED = {"carry_jit_list"}


def preprocess(*options: str) -> str:
    command = ["cc", "-E", "-P", *options, f"-I{SOURCE}/include", "-"]
    return subprocess.run(command, input=HEADERS, capture_output=True, text=True, check=True).stdout


def without_bodies(text: str) -> str:
    """Returns the text with function definitions replaced by declarations."""
    while found := re.search(r"\)\s*\{", text):
        end, depth = found.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: found.start()] + ");" + text[end:]
    return text


def declarations(text: str) -> Iterator[str]:
    """Yields the declarations of a C text, each without line breaks."""
    text = re.sub(r'\b_Pragma\(".*?"\)|extern "C"|\binline\b', "", text)
    text = re.sub(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    text = without_bodies(text).replace("_Bool", "bool")
    depth, start = 0, 0
    for at, c in enumerate(text):
        depth += {"{": 1, "}": -1}.get(c, 0)
        if c == ";" and depth == 0:
            one = " ".join(text[start:at].split())
            yield re.sub(r"\s*([(){},;*])\s*", r"\1", one)
            start = at + 1


def constants() -> dict[str, str]:
    """Returns the numeric macros of the headers."""
    found = re.findall(r"^#define (CARRY_\w+) \(?(-?\d+)\)?$", preprocess("-dM"), re.MULTILINE)
    return dict(found)


def declared() -> list[str]:
    text = (BINDING / "carry.lua").read_text()
    return list(declarations(re.search(r"ffi\.cdef\(\[\[(.*?)\]\]\)", text, re.DOTALL)[1]))


def test_declarations_are_those_of_the_headers() -> None:
    headers = set(declarations(preprocess()))
    macros = constants()
    assert len(declared()) > 30
    for one in declared():
        constant = re.fullmatch(r"static const int (\w+) = (\S+)", one)
        if constant:
            assert macros[constant[1]] == constant[2]
        else:
            assert one in headers


def test_every_function_of_jit_is_declared() -> None:
    functions = re.findall(r"\b(carry_jit\w*)\(", "\n".join(declarations(preprocess())))
    ours = "\n".join(declared())
    assert {name for name in functions if f"{name}(" not in ours} == UNDECLARED


def luajit(script: Path) -> str:
    """Runs a script that must succeed; returns its output."""
    program = shutil.which("luajit")
    if not program:
        pytest.skip("luajit is not installed")
    if os.environ.get("CARRY_SANITIZED"):
        pytest.skip("luajit was not built for the sanitizers that the library wants")
    env = os.environ | {
        "LUA_PATH": f"{BINDING}/?.lua;;",
        "LD_LIBRARY_PATH": f"{BUILD}/src:{BUILD}/jit",
    }
    done = subprocess.run([program, script], env=env, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


def needs_jit() -> None:
    if not (BUILD / "jit/libcarry-jit.so").exists():
        pytest.skip("it ran, but libcarry-jit was left out: no asmjit")


def test_functions() -> None:
    """The binding passes its tests in Lua."""
    shown = luajit(SOURCE / "tests/unit/luajit/test_carry.lua")
    results = re.findall(r"^(?:not )?ok \d+ - (\w+)( # SKIP)?", shown, re.MULTILINE)
    assert len(results) == int(re.search(r"^1\.\.(\d+)$", shown, re.MULTILINE)[1]) > 8
    needs_jit()
    if not re.search("no generator for this architecture", shown):
        assert not [name for name, skipped in results if skipped]


def test_example() -> None:
    """The example repairs packets and prints the documented output."""
    shown = luajit(BINDING / "examples/checksum_app.lua")
    assert shown.endswith("99 of 100 packets arrived\n")
    assert "check: " in shown and ", 1 dropped\n" in shown
