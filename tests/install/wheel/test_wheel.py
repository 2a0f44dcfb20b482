# SPDX-License-Identifier: MIT
"""Wheels have the right tags and contents, and work on minimal systems."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import CPUS, SOURCE, System, Wheels, ask, say

VERSION = say(SOURCE / "scripts/version").strip()
CAPTURE = SOURCE / "examples/offload.pcapng"
VERDICT = "clean, 4 left to transmit offload"
CHECK = "import libcarry, sys; print([libcarry.check(path).ok for path in sys.argv[1:]])"
LIBRARIES = ["libbz2", "libjansson", "liblz4", "liblzma", "libmd", "libzstd", "zlib1g"]
COMPLETIONS = [
    "bash-completion/completions/carry",
    "fish/vendor_completions.d/carry.fish",
    "zsh/site-functions/_carry",
]
PROGRAMS = {"zst": ["zstd", "-q", "-c"], "lz4": ["lz4", "-q", "-c"]}
OWN_GIL = """
import _interpreters, libcarry
print(_interpreters.run_string(_interpreters.create("isolated"), "import libcarry").msg)
"""


def commands() -> list[str]:
    table = (SOURCE / "tools/carry/commands.def").read_text()
    return re.findall(r"^CARRY_COMMAND\((\w+)", table, re.MULTILINE)


def contents(cpu: str) -> set[str]:
    """Returns all files that a wheel must contain."""
    data, info = f"libcarry-{VERSION}.data", f"libcarry-{VERSION}.dist-info"
    source = SOURCE / "bindings/python/libcarry"
    package = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.suffix in (".py", ".pyi", ".typed")
    }
    pages = ["carry.1", "carry-rotated.1", *(f"carry-{name}.1" for name in commands())]
    found = {f"libcarry/{name}" for name in package} | {"libcarry/_carry.abi3.so"}
    found |= {f"{data}/scripts/{name}" for name in ("carry", "carry-rotated")}
    found |= {f"{data}/data/share/man/man1/{page}" for page in pages}
    found |= {f"{data}/data/share/{name}" for name in COMPLETIONS}
    found |= {f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
    found |= {f"{info}/licenses/{name}" for name in ["LICENSE", *LIBRARIES]}
    if cpu == "x86_64":
        found |= {f"{data}/data/share/carry/libcarry-leavers.so"}
    return found


def objects(tree: Path) -> Iterator[Path]:
    """Yields the compiled files."""
    for path in tree.rglob("*"):
        if path.is_file() and path.read_bytes().startswith(b"\x7fELF"):
            yield path


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Returns the paths of one capture, uncompressed and as each compressor writes it."""
    folder = tmp_path_factory.mktemp("captures")
    plain = CAPTURE.read_bytes()
    packed = {"pcapng": plain, "gz": gzip.compress(plain), "xz": lzma.compress(plain)}
    packed["bz2"] = bz2.compress(plain)
    for ending, command in PROGRAMS.items():
        if shutil.which(command[0]):
            packed[ending] = subprocess.run(
                command, input=plain, stdout=subprocess.PIPE, check=True
            ).stdout
    for ending, data in packed.items():
        (folder / f"packed.{ending}").write_bytes(data)
    return sorted(folder.iterdir())


@pytest.mark.parametrize("cpu", CPUS)
def test_tag(wheels: Wheels, cpu: str) -> None:
    """The name of a wheel and the output of auditwheel contain the promised platform."""
    platform = f"manylinux_2_28_{cpu}"
    wheel = wheels.wheel(cpu)
    assert wheel.name == f"libcarry-{VERSION}-cp311-abi3-{platform}.whl"
    said = " ".join(say(wheels.tools, "-m", "auditwheel", "show", wheel).split())
    assert f'is consistent with the following platform tag: "{platform}"' in said


@pytest.mark.parametrize("cpu", CPUS)
def test_contents(unpacked: dict[str, Path], cpu: str) -> None:
    """A wheel holds the listed files and no others."""
    tree = unpacked[cpu]
    found = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    assert found == contents(cpu)


@pytest.mark.parametrize("cpu", CPUS)
def test_modes_are_those_of_any_umask(wheels: Wheels, cpu: str) -> None:
    """The modes are right although the step builds wheels with a restrictive umask."""
    with zipfile.ZipFile(wheels.wheel(cpu)) as wheel:
        modes = {entry.external_attr >> 16 & 0o777 for entry in wheel.infolist()}
    assert modes == {0o644, 0o664, 0o755}  # 0o664: files that wheel and auditwheel write


@pytest.mark.parametrize("cpu", CPUS)
def test_licences_are_named(unpacked: dict[str, Path], cpu: str) -> None:
    text = (unpacked[cpu] / f"libcarry-{VERSION}.dist-info/METADATA").read_text()
    assert re.findall("^License-File: (.*)", text, re.MULTILINE) == ["LICENSE", *LIBRARIES]


@pytest.mark.parametrize("cpu", CPUS)
def test_only_the_c_library_is_needed(unpacked: dict[str, Path], cpu: str) -> None:
    for path in objects(unpacked[cpu]):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", say("readelf", "--dynamic", path))
        allowed = r"lib(c|dl|m|pthread)\.so\.\d|ld-linux-.*"
        assert [name for name in needed if not re.fullmatch(allowed, name)] == [], path


@pytest.mark.parametrize("cpu", CPUS)
def test_nothing_of_the_build_is_left(unpacked: dict[str, Path], wheels: Wheels, cpu: str) -> None:
    """No debug symbols and no path of the build remain."""
    for path in objects(unpacked[cpu]):
        assert ".symtab" not in say("readelf", "--section-headers", "--wide", path)
        assert ".debug_info" not in say("readelf", "--section-headers", "--wide", path)
        assert str(SOURCE).encode() not in path.read_bytes(), path


@pytest.mark.parametrize("cpu", CPUS)
def test_code_runs_at_any_address(unpacked: dict[str, Path], cpu: str) -> None:
    for path in objects(unpacked[cpu]):
        assert re.search(r"Type: +DYN ", say("readelf", "--file-header", path)), path


def installed(wheels: Wheels, system: System) -> str:
    """Installs the wheel in a virtual environment; returns its folder of commands."""
    for name in ("venv", "pip"):
        shutil.rmtree(system.root / name, ignore_errors=True)
    (pip,) = (wheels.folder / "tools/lib").glob("python3.*/site-packages/pip")
    shutil.copytree(pip, system.root / "pip/pip")
    wheel = system.give(wheels.wheel("x86_64"))
    system.say("/usr/bin/python3", "-m", "venv", "--without-pip", "/venv")
    pip_there = "import sys; sys.path.insert(0, '/pip'); from pip._internal.cli.main import main; "
    words = f"['--isolated', 'install', '--no-index', '--no-cache-dir', '{wheel}']"
    system.say("/venv/bin/python", "-c", f"{pip_there}sys.exit(main({words}))")
    shutil.rmtree(system.root / "pip")
    return "/venv/bin"


@pytest.mark.parametrize("name", ["this-debian", "newer-debian"])
def test_works_beside_python_alone(wheels: Wheels, captures: list[Path], name: str) -> None:
    """Wheels work as pip and pipx install them, with the oldest Python and with a newer one."""
    system = wheels.system(name)
    assert not (system.root / "usr/bin/cc").exists() and not (system.root / "usr/include").exists()
    folder = installed(wheels, system)
    names = [system.give(capture) for capture in captures]
    python = f"{folder}/python"
    assert system.say(python, "-c", CHECK, *names).strip() == str([True] * len(names))
    for command in ([f"{folder}/carry"], [f"{folder}/libcarry"], [python, "-m", "libcarry"]):
        for capture in names:
            assert VERDICT in system.say(*command, "check", capture), command
    said = system.say(f"{folder}/libcarry", "--version")
    assert said.startswith(f"carry {VERSION}\n")
    assert all(f" {name} " in said for name in ("jansson", "zlib", "libzstd", "liblz4"))


def test_an_interpreter_with_its_own_gil_is_refused(wheels: Wheels) -> None:
    """From 3.12 on, CPython itself refuses the module, so a newer Debian runs the test."""
    system = wheels.system("newer-debian")
    said = system.say(f"{installed(wheels, system)}/python", "-c", OWN_GIL)
    assert "does not support loading in subinterpreters" in said


def test_omitted_features_are_reported(wheels: Wheels) -> None:
    system = wheels.system("this-debian")
    folder = installed(wheels, system)
    for command, missing in (
        (["sites", "/usr/bin/python3"], "sites"),
        (["xstate", "prof"], "prof"),
    ):
        done = system.ask(f"{folder}/carry", *command, *(["1"] if missing == "prof" else []))
        assert done.returncode == 3
        assert re.fullmatch(rf"carry: built without '[a-z ]*{missing}': .*\n", done.stdout)


def test_works_with_an_old_c_library(
    wheels: Wheels, unpacked: dict[str, Path], captures: list[Path]
) -> None:
    """The programs work with the oldest glibc available, which has each symbol that the module
    needs."""
    system = wheels.system("older-debian")
    tree = unpacked["x86_64"]
    program = system.give(tree / f"libcarry-{VERSION}.data/scripts/carry")
    for capture in captures:
        assert VERDICT in system.say(program, "check", system.give(capture))
    module = system.give(tree / "libcarry/_carry.abi3.so")
    said = system.say("/lib64/ld-linux-x86-64.so.2", "--list", module)
    assert "not found" not in said


def test_aarch64_works(wheels: Wheels, unpacked: dict[str, Path], captures: list[Path]) -> None:
    """The command and the module work with an emulated Python."""
    root = wheels.system("aarch64-debian").root
    if not shutil.which("qemu-aarch64"):
        pytest.skip("no qemu-aarch64")
    emulated = ["timeout", "-s", "KILL", "300", "qemu-aarch64", "-L", root]
    tree = unpacked["aarch64"]
    for capture in captures:
        program = tree / f"libcarry-{VERSION}.data/scripts/carry"
        assert VERDICT in say(*emulated, program, "check", capture)
    python = (root / "usr/bin/python3").resolve()
    said = say(*emulated, python, "-c", CHECK, *captures, env={"PYTHONPATH": str(tree)})
    assert said.strip() == str([True] * len(captures))


def test_pip_installs_a_clone(wheels: Wheels, tmp_path: Path, captures: list[Path]) -> None:
    """A clone is built by this system's compiler and libraries, without any test program. The
    installed command finds the files that are installed with it."""
    pip = ["-m", "pip", "--isolated", "install", "--no-index", "--no-deps", "--no-build-isolation"]
    build = wheels.folder / "build-clone"
    tools = {"PATH": f"{wheels.tools.parent}:/usr/bin:/bin"}
    quickly = "setup-args=-Doptimization=0"
    settings = [f"--config-settings={setting}" for setting in (f"build-dir={build}", quickly)]
    say(wheels.tools, *pip, *settings, f"--prefix={tmp_path}", SOURCE, env=tools)
    assert [path for path in (build / "tests").glob("test_*") if path.is_file()] == []
    (packages,) = tmp_path.glob("lib/python3.*/site-packages")
    own = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "PYTHONPATH": str(packages)}
    said = say(wheels.tools, "-c", CHECK, *captures, env=own)
    assert said.strip() == str([True] * len(captures))
    assert VERDICT in say(tmp_path / "bin/libcarry", "check", CAPTURE, env=own)
    leavers = ask(tmp_path / "bin/carry", "xstate", "leavers", "--", "/bin/true")
    assert "cannot find" not in leavers.stdout


def test_only_known_architectures() -> None:
    done = ask(SOURCE / "scripts/make_wheel.py", "/nowhere", "pdp11", "vax")
    assert done.returncode == 2
    assert "unknown architectures: pdp11 vax" in done.stdout
