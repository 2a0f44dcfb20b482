# SPDX-License-Identifier: MIT
"""Files that the tool writes appear whole or not at all: `carry check -w` and `carry fix -o`."""

from __future__ import annotations

import contextlib
import os
import pty
import resource
import select
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from captures import GOOD, WRONG, pcap
from conftest import ERROR, Run, wait_until_read

# What stands before the path of each file that is written.
WRITERS = {"check": ["check", "-q", "-w"], "fix": ["fix", "-q", "-o"], "log": ["fix", "-q", "-l"]}
OTHERS = {"check": [], "fix": [], "log": ["--dry-run"]}

# Stands in for a file system on which every file has a name.
NO_UNNAMED_FILES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

static int named(const char *symbol, const char *path, int flags, va_list arguments) {
    int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, symbol);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    if ((flags & O_TMPFILE) != O_TMPFILE)
        return next(path, flags, mode);
    errno = EOPNOTSUPP;
    return -1;
}

#define OPEN(name)                                              \
    int name(const char *path, int flags, ...) {                \
        va_list arguments;                                      \
        va_start(arguments, flags);                             \
        int result = named(#name, path, flags, arguments);      \
        va_end(arguments);                                      \
        return result;                                          \
    }
OPEN(open)
OPEN(open64)
"""


@pytest.fixture(scope="session")
def named_only(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("named")
    (folder / "named.c").write_text(NO_UNNAMED_FILES)
    library = folder / "named.so"
    command = ["cc", "-shared", "-fPIC", "-o", library, folder / "named.c"]
    subprocess.run([*map(str, command), "-ldl"], check=True)
    return str(library)


@pytest.fixture(params=["unnamed", "named"])
def env(request: pytest.FixtureRequest) -> dict[str, str]:
    """With and without files that have no name until they are whole."""
    if request.param == "unnamed":
        return dict(os.environ)
    if os.environ.get("CARRY_SANITIZED"):
        pytest.skip("the sanitizers' library has to be the first that is loaded")
    return {**os.environ, "LD_PRELOAD": request.getfixturevalue("named_only")}


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest) -> str:
    return request.param


def command(tool: str, writer: str, out: Path | str, source: Path | str) -> list[str]:
    return [tool, *WRITERS[writer], str(out), *OTHERS[writer], str(source)]


def refused(carry: Run, writer: str, out: Path | str, source: Path) -> str:
    """The one line that tells why nothing was written, without the name."""
    done = carry(*command("", writer, out, source)[1:])
    assert (done.returncode, done.stdout) == (ERROR, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"carry: {out}: ")
    return line.removeprefix(f"carry: {out}: ")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """In a folder of its own: what else is in tmp_path was written."""
    folder = tmp_path / "source"
    folder.mkdir()
    path = folder / "in.pcap"
    path.write_bytes(pcap([WRONG, GOOD] * 3000))
    return path


def written(folder: Path) -> list[str]:
    return sorted(set(os.listdir(folder)) - {"source"})


def test_it_appears_with_the_usual_mode(
    tool: str, writer: str, env: dict[str, str], source: Path, tmp_path: Path
) -> None:
    for before in (None, b"before"):
        if before:
            (tmp_path / "out").write_bytes(before)
        subprocess.run(command(tool, writer, tmp_path / "out", source), env=env)
        mask = os.umask(0)
        os.umask(mask)
        assert written(tmp_path) == ["out"]
        assert (tmp_path / "out").stat().st_size > 1000
        if not before:
            assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o666 & ~mask


def test_links_are_followed(
    tool: str, writer: str, env: dict[str, str], source: Path, tmp_path: Path
) -> None:
    (tmp_path / "target").write_bytes(b"before")
    (tmp_path / "link").symlink_to("target")
    subprocess.run(command(tool, writer, tmp_path / "link", source), env=env)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").stat().st_size > 1000
    assert written(tmp_path) == ["link", "target"]


def test_a_name_without_a_folder(
    tool: str, writer: str, env: dict[str, str], source: Path, tmp_path: Path
) -> None:
    subprocess.run(command(tool, writer, "out", source), env=env, cwd=tmp_path)
    assert written(tmp_path) == ["out"]


@pytest.fixture
def running(tool: str) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a writer that has read all there is so far and waits for more."""
    started: list[subprocess.Popen[bytes]] = []

    def start(writer: str, env: dict[str, str], out: Path) -> subprocess.Popen[bytes]:
        child = subprocess.Popen([*command(tool, writer, out, "-")], stdin=subprocess.PIPE, env=env)
        started.append(child)
        assert child.stdin
        child.stdin.write(pcap([WRONG] * 40000))
        child.stdin.flush()
        wait_until_read(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM])
def test_signals_leave_nothing_behind(
    running: Callable[..., subprocess.Popen[bytes]],
    writer: str,
    env: dict[str, str],
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    child = running(writer, env, tmp_path / "out")
    assert len(written(tmp_path)) == ("LD_PRELOAD" in env)
    child.send_signal(number)
    assert child.wait(10) == -number
    assert written(tmp_path) == []


def test_without_a_name_nothing_is_left_even_of_the_killed(
    running: Callable[..., subprocess.Popen[bytes]], writer: str, tmp_path: Path
) -> None:
    try:
        os.close(os.open(tmp_path, os.O_WRONLY | os.O_TMPFILE))
    except OSError:
        pytest.skip("this file system has no files without a name")
    child = running(writer, dict(os.environ), tmp_path / "out")
    child.kill()
    child.wait(10)
    assert written(tmp_path) == []


@pytest.mark.parametrize("ignored", [True, False])
def test_a_full_disk(
    tool: str, writer: str, env: dict[str, str], source: Path, tmp_path: Path, ignored: bool
) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"before")

    def limit() -> None:
        if ignored:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    done = subprocess.run(
        command(tool, writer, out, source),
        env=env,
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    if ignored:
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert done.stderr == f"carry: {out}: File too large\n"
    else:
        assert done.returncode == -signal.SIGXFSZ
    assert out.read_bytes() == b"before"
    assert written(tmp_path) == ["out"]


def test_what_cannot_be_replaced(carry: Run, writer: str, source: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to("none")
    (tmp_path / "around").symlink_to("around")
    before = written(tmp_path)
    for name, reason in {
        "": "Is a directory",
        "none/out": "No such file or directory",
        "none/": "No such file or directory",
        "source/in.pcap/out": "Not a directory",
        "pipe": "is no regular file",
        "nowhere": "is a link that leads nowhere",
        "around": "is a link that leads nowhere",
    }.items():
        assert refused(carry, writer, f"{tmp_path}/{name}", source) == reason, name
    assert refused(carry, writer, "/dev/null", source) == "is no regular file"
    assert refused(carry, writer, "/dev/stdout", source) == "is no regular file"
    assert refused(carry, writer, "", source) == "No such file or directory"
    assert written(tmp_path) == before


def test_where_the_command_prints_to(tool: str, writer: str, source: Path, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    for name in ("/dev/stdout", str(shown)):
        with shown.open("wb") as stdout:
            done = subprocess.run(
                command(tool, writer, name, source), stdout=stdout, stderr=subprocess.PIPE
            )
        assert done.returncode == ERROR
        assert done.stderr.decode() == f"carry: {name}: is where this command prints to\n"
        assert shown.read_bytes() == b""
    assert written(tmp_path) == ["shown"]


def test_standard_output_is_no_file(carry: Run, source: Path, tmp_path: Path) -> None:
    for writer in ("check", "fix"):
        done = carry(*command("", writer, "-", source)[1:])
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert "must be a file: it appears whole or not at all" in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (Path.cwd() / "-").exists()


def test_a_folder_that_may_not_be_written_to(tool: str, writer: str) -> None:
    """Root may write everywhere, so it tests as nobody, in a folder that all may enter."""
    user = 65534 if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy = shutil.copy(tool, folder / "carry")
        (folder / "in.pcap").write_bytes(pcap([GOOD]))
        folder.chmod(0o555)
        done = subprocess.run(
            command(copy, writer, folder / "out", folder / "in.pcap"),
            capture_output=True,
            text=True,
            user=user,
        )
        folder.chmod(0o755)
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert done.stderr == f"carry: {folder}/out: Permission denied\n"


def test_interrupts_wipe_the_progress_line_too(
    tool: str, env: dict[str, str], tmp_path: Path
) -> None:
    terminal, stderr = pty.openpty()
    child = subprocess.Popen(
        command(tool, "check", tmp_path / "out", "-"), stdin=subprocess.PIPE, stderr=stderr, env=env
    )
    os.close(stderr)
    assert child.stdin
    child.stdin.write(pcap([]))
    shown = b""
    while b"GB/s" not in shown:
        child.stdin.write(pcap([GOOD])[24:])
        child.stdin.flush()
        if select.select([terminal], [], [], 0.05)[0]:
            shown += os.read(terminal, 65536)
    child.send_signal(signal.SIGINT)
    assert child.wait(10) == -signal.SIGINT
    with contextlib.suppress(OSError):  # how a terminal says that nobody writes to it any more
        while part := os.read(terminal, 65536):
            shown += part
    os.close(terminal)
    assert shown.endswith(b"\r\x1b[K")
    assert written(tmp_path) == []
