# SPDX-License-Identifier: MIT
"""The canonical bytes of kernels, from objects and from linked files."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
import digest
from digest import Code, Field

SOURCE = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build")).resolve()
TOOL = Path(os.environ.get("CARRY_TOOL", BUILD / "tools/carry/carry"))


@pytest.fixture(scope="module")
def codes() -> dict[str, Code]:
    return {code.name: code for code in digest.kernels(BUILD)}


@pytest.mark.parametrize("path", ["src/libcarry.so", "tools/carry/carry"])
def test_linkers_change_nothing_else(codes: dict[str, Code], path: str) -> None:
    assert codes
    linked = digest.linked(BUILD / path, codes.values())
    assert [code.digest for code in linked] == [code.digest for code in codes.values()]


def test_each_form_of_each_kernel_is_found(codes: dict[str, Code]) -> None:
    arch = next(iter(codes.values())).arch
    assert list(codes) == digest.functions(arch)
    assert all(code.size == len(code.content) > 0 for code in codes.values())


def test_who_made_it_is_named(codes: dict[str, Code]) -> None:
    assert all(code.by.startswith(("GNU as ", "GCC ", "clang ")) for code in codes.values())


def flip_code(code: Code) -> Code:
    return dataclasses.replace(code, content=code.content[:-1] + bytes([code.content[-1] ^ 1]))


def change_first(code: Code, change: Callable[[Field], Field]) -> Code:
    return dataclasses.replace(code, fields=(change(code.fields[0]), *code.fields[1:]))


def flip_table(code: Code) -> Code:
    def flip(field: Field) -> Field:
        assert isinstance(field.to, bytes)
        return dataclasses.replace(field, to=field.to[:-1] + bytes([field.to[-1] ^ 1]))

    return change_first(code, flip)


def refer_beside(code: Code) -> Code:
    return change_first(code, lambda field: dataclasses.replace(field, addend=field.addend + 1))


def call_another(code: Code) -> Code:
    return change_first(code, lambda field: dataclasses.replace(field, to="carry_copy_rep"))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("carry_copy_avx2", flip_code),
        ("carry_sum_avx2", flip_code),
        ("carry_sum_avx2", flip_table),
        ("carry_sum_avx2", refer_beside),
        ("carry_copy_move_avx2", call_another),
    ],
)
def test_changes_of_the_digest(
    codes: dict[str, Code], name: str, change: Callable[[Code], Code]
) -> None:
    if name not in codes:
        pytest.skip("of another architecture")
    assert change(codes[name]).digest != codes[name].digest


def test_makers_of_the_same_code_share_a_row(
    codes: dict[str, Code], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = next(iter(codes.values()))
    other = dataclasses.replace(code, by="another 1.0")
    monkeypatch.setattr(digest, "PROVEN", tmp_path / "proven.def")
    digest.PROVEN.write_text(digest.HEAD)
    digest.record([code])
    digest.record([other, flip_code(code)])
    makers = {digest_of: by for (_, _, digest_of), (by, _) in digest.recorded().items()}
    assert makers == {code.digest: {code.by, other.by}, flip_code(code).digest: {code.by}}
    digest.record([], failed=[code])
    assert set(digest.recorded()) == {(code.arch, code.name, flip_code(code).digest)}


def test_the_tool_computes_the_same(codes: dict[str, Code]) -> None:
    """Kernels in memory are proven if, and only if, a proven object has the same bytes."""
    command = [TOOL, "selftest", "--proof", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if "built without" in done.stderr:
        pytest.skip("the tool was built without libmd (Debian package libmd-dev)")
    found = {
        f"carry_{row['function']}_{row['variant']}": row["state"] == "proven"
        for row in json.loads(done.stdout)["kernels"]
    }
    without_row = {code.name for code in digest.unproven(codes.values())}
    assert found == {name: name in codes and name not in without_row for name in found}
    assert set(codes) <= set(found)
