# SPDX-License-Identifier: MIT
"""Files of `carry check -w`, `carry fix -o` and `carry fix --log` are complete or absent."""

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
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, HANGS, Run, cases, wait_until_read

MANY = pcap([WRONG] * 40000)

# For each kind of file that the tool can write, the words of the command before the file's path
# (WRITERS), and after it (OTHERS).
WRITERS = {"check": ["check", "-q", "-w"], "fix": ["fix", "-q", "-o"], "log": ["fix", "-q", "-l"]}
OTHERS = {"check": [], "fix": [], "log": ["--dry-run"]}

# Simulates a file system in which every file has a name.
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


@pytest.fixture
def named_env(preload: Callable[[str], str]) -> dict[str, str]:
    name, _, library = preload(NO_UNNAMED_FILES).partition("=")
    return {**os.environ, name: library}


@pytest.fixture(params=["unnamed", "named"])
def env(request: pytest.FixtureRequest) -> dict[str, str]:
    """Returns one of two environments: either files may have no name until they are complete, or
    every file has a name."""
    if request.param == "unnamed":
        return dict(os.environ)
    return dict(request.getfixturevalue("named_env"))


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest) -> str:
    return request.param


def command(tool: str, writer: str, out: Path | str, source: Path | str) -> list[str]:
    return [tool, *WRITERS[writer], str(out), *OTHERS[writer], str(source)]


def refused(carry: Run, writer: str, out: Path | str, source: Path) -> str:
    """Returns the reason why nothing was written: the line of the error without the file's name."""
    done = carry(*command("", writer, out, source)[1:])
    assert (done.returncode, done.stdout) == (ERROR, "")
    (line,) = done.stderr.splitlines()
    name = str(out) or '""'
    assert line.startswith(f"carry: {name}: ")
    return line.removeprefix(f"carry: {name}: ")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Returns the path of a capture in the folder "source": all else in tmp_path is output."""
    folder = tmp_path / "source"
    folder.mkdir()
    path = folder / "in.pcap"
    path.write_bytes(pcap([WRONG, GOOD] * 3000))
    return path


def written(folder: Path) -> list[str]:
    return sorted(set(os.listdir(folder)) - {"source"})


def test_file_appears_with_the_usual_mode(
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
    """A name without a folder is written to the current folder."""
    subprocess.run(command(tool, writer, "out", source), env=env, cwd=tmp_path)
    assert written(tmp_path) == ["out"]


@pytest.fixture
def running(tool: str) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Yields a function that starts a writer, and waits until it has read all input so far."""
    started: list[subprocess.Popen[bytes]] = []

    def start(writer: str, env: dict[str, str], out: Path) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            [*command(tool, writer, out, "-")],
            stdin=subprocess.PIPE,
            env=env,
            preexec_fn=take_signals,
        )
        started.append(child)
        assert child.stdin
        child.stdin.write(MANY)
        child.stdin.flush()
        wait_until_read(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


# Signals that end a program by default, each with the signal that is sent before it, or None.
SIGNALS = {
    **{signal.Signals[f"SIG{name}"]: None for name in ("HUP", "QUIT", "ABRT", "ALRM", "USR1")},
    **{signal.Signals[f"SIG{name}"]: None for name in ("USR2", "POLL", "PROF", "VTALRM")},
    **{signal.Signals[f"SIG{name}"]: None for name in ("XCPU", "XFSZ", "PWR", "RTMIN", "RTMAX")},
    signal.SIGTERM: signal.SIGINT,
}


def take_signals() -> None:
    """Restores defaults: a program does not change signals that it ignores from the start
    (nohup)."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@pytest.mark.parametrize("number", cases(SIGNALS, 7), ids=lambda number: number.name)
def test_signals_leave_no_file(
    running: Callable[..., subprocess.Popen[bytes]],
    writer: str,
    env: dict[str, str],
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    child = running(writer, env, tmp_path / "out")
    assert len(written(tmp_path)) == ("LD_PRELOAD" in env)
    first = SIGNALS[number]
    if first:  # both signals are pending when the program continues
        child.send_signal(signal.SIGSTOP)
        child.send_signal(first)
    child.send_signal(number)
    child.send_signal(signal.SIGCONT)
    assert child.wait(HANGS) == -number
    assert written(tmp_path) == []


def test_unnamed_file_is_gone_after_a_kill(
    running: Callable[..., subprocess.Popen[bytes]], writer: str, tmp_path: Path
) -> None:
    try:
        os.close(os.open(tmp_path, os.O_WRONLY | os.O_TMPFILE))
    except OSError:
        pytest.skip("this file system has no files without a name")
    child = running(writer, dict(os.environ), tmp_path / "out")
    child.kill()
    child.wait(HANGS)
    assert written(tmp_path) == []


@pytest.mark.parametrize("ignored", [True, False])
def test_a_full_disk(
    tool: str, writer: str, env: dict[str, str], source: Path, tmp_path: Path, ignored: bool
) -> None:
    """If the disk is full, the file does not change."""
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


def test_outputs_that_cannot_be_replaced(
    carry: Run, writer: str, source: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to("none")
    (tmp_path / "around").symlink_to("around")
    before = written(tmp_path)
    for name, reason in {
        "": "Is a directory",
        "none/out": "No such file or directory",
        "none/": "No such file or directory",
        "source/in.pcap/out": "Not a directory",
        "nowhere": "is a dangling link",
        "around": "is a dangling link",
    }.items():
        assert refused(carry, writer, f"{tmp_path}/{name}", source) == reason, name
    for name in (f"{tmp_path}/pipe", "/dev/null", "/dev/stdout") if writer != "fix" else ():
        assert refused(carry, writer, name, source) == "is not a regular file"
    assert refused(carry, writer, "", source) == "No such file or directory"
    assert written(tmp_path) == before


def test_output_must_not_be_standard_output(
    tool: str, writer: str, source: Path, tmp_path: Path
) -> None:
    shown = tmp_path / "shown"
    for name in ("/dev/stdout", str(shown))[writer == "fix" :]:
        with shown.open("wb") as stdout:
            done = subprocess.run(
                command(tool, writer, name, source), stdout=stdout, stderr=subprocess.PIPE
            )
        assert done.returncode == ERROR
        assert done.stderr.decode() == f"carry: {name}: is the standard output of this command\n"
        assert shown.read_bytes() == b""
    assert written(tmp_path) == ["shown"]


def test_standard_output_is_no_file(carry: Run, source: Path, tmp_path: Path) -> None:
    done = carry(*command("", "check", "-", source)[1:])
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "must name a file, not standard output" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (Path.cwd() / "-").exists()


def test_a_folder_that_may_not_be_written_to(tool: str, writer: str) -> None:
    """Root may write everywhere, so the test runs as nobody, in a folder that everyone may
    enter."""
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


@pytest.mark.parametrize(
    ("number", "status", "left"),
    [(signal.SIGINT, CLEAN, ["out"]), (signal.SIGHUP, -signal.SIGHUP, [])],
)
def test_signals_wipe_the_progress_line_too(
    tool: str,
    env: dict[str, str],
    tmp_path: Path,
    number: signal.Signals,
    status: int,
    left: list[str],
) -> None:
    terminal, stderr = pty.openpty()
    child = subprocess.Popen(
        command(tool, "check", tmp_path / "out", "-"),
        stdin=subprocess.PIPE,
        stderr=stderr,
        env=env,
        preexec_fn=take_signals,
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
    child.send_signal(number)
    assert child.wait(HANGS) == status
    with contextlib.suppress(OSError):  # reads fail once all writers have closed the terminal
        while part := os.read(terminal, 65536):
            shown += part
    os.close(terminal)
    assert shown.endswith(b"\r\x1b[K")
    assert written(tmp_path) == left


# --- Files that must not be confused ---


@pytest.mark.parametrize("first", ["+a.pcap", "+a/a.pcap"])
def test_output_below_the_folder_is_not_checked(
    tool: str, env: dict[str, str], tmp_path: Path, first: str
) -> None:
    """The name "+a" sorts before the names of incomplete files, which begin with "."."""
    (tmp_path / "+a").mkdir()
    (tmp_path / first).write_bytes(pcap([WRONG] * 5000))
    (tmp_path / "b.pcap").write_bytes(pcap([GOOD]))
    before = written(tmp_path)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 24, 1 << 24))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    done = subprocess.run(
        [tool, "check", "-w", tmp_path / "out", tmp_path],
        env=env,
        capture_output=True,
        preexec_fn=limit,
        timeout=600,
    )
    total = "\n2 captures, 5,001 packets: 5,000 bad checksums\n"
    assert done.stdout.decode().endswith(f"{total}not clean: {tmp_path / first}\n")
    assert (done.returncode, done.stderr) == (BAD, b"")
    assert written(tmp_path) == sorted([*before, "out"])
    assert (tmp_path / "out").read_bytes().count(f"{first}, frame ".encode()) == 5000


def test_incomplete_outputs_of_others_are_skipped(carry: Run, tmp_path: Path) -> None:
    """Two commands that write below one folder do not read each other's output."""
    (tmp_path / ".carry-1-0").write_bytes(pcap([WRONG]))
    (tmp_path / "a.pcap").write_bytes(pcap([GOOD]))
    done = carry("check", "-w", tmp_path / "out", tmp_path)
    assert done.returncode == CLEAN
    assert done.stdout.endswith("\n1 capture, 1 packet: clean; 1 other file skipped\n")


def test_standard_output_is_not_checked(tool: str, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(pcap([WRONG] * 100))
    for target, status in ((tmp_path, BAD), (tmp_path / "report.pcap", ERROR)):
        with (tmp_path / "report.pcap").open("ab") as stdout:
            done = subprocess.run(
                [tool, "check", "-b", target], stdout=stdout, stderr=subprocess.PIPE
            )
        assert done.returncode == status
    assert done.stderr.decode() == f"carry: {target}: is an output of this command\n"
    assert (tmp_path / "report.pcap").read_bytes().count(b"a.pcap: ") == 100
    before = (tmp_path / "a.pcap").read_bytes()
    with (tmp_path / "a.pcap").open("ab") as stdout:
        done = subprocess.run(
            [tool, "fix", "--dry-run", "-l", "-", tmp_path / "a.pcap"],
            stdout=stdout,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == ERROR
    assert (tmp_path / "a.pcap").read_bytes() == before


def test_two_outputs_at_one_place_are_refused(
    tool: str, env: dict[str, str], source: Path, tmp_path: Path
) -> None:
    """A copy and a log at the same place are refused, however their paths name it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "absolute").symlink_to(folder)
    same = ["folder/same", "./folder/same", "folder/../link/same", "link/same", "absolute/same"]
    for exists in (False, True):
        if exists:
            (folder / "same").write_bytes(b"before")
        for copy in same:
            for log in (*same, folder / "same"):
                done = subprocess.run(
                    [tool, "fix", source, "-o", copy, "--log", log],
                    cwd=tmp_path,
                    env=env,
                    capture_output=True,
                )
                assert (done.returncode, done.stdout) == (ERROR, b"")
                assert (
                    done.stderr.decode() == f"carry: {log}: is an output of this command already\n"
                )
                assert os.listdir(folder) == ["same"] * exists
    subprocess.run([tool, "fix", source, "-o", "a", "--log", "folder/a"], cwd=tmp_path, env=env)
    assert os.listdir(folder / "..").count("a") == os.listdir(folder).count("a") == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("writer", ["check", "fix"])
def test_reports_never_land_in_files(
    tool: str, writer: str, env: dict[str, str], source: Path, tmp_path: Path, closed: str
) -> None:
    """If standard streams are closed, the files are right nevertheless: a new file gets the lowest
    free descriptor, which may be that of a closed stream."""
    damaged = source.with_name("damaged.pcap")
    damaged.write_bytes(source.read_bytes() + b"damage")
    words = {"check": "check -b -w out", "fix": "fix -o out --log log"}[writer]
    script = f"{tool} {words} {damaged}"
    subprocess.run(["/bin/sh", "-c", script], cwd=tmp_path, env=env, capture_output=True)
    right = {name: (tmp_path / name).read_bytes() for name in written(tmp_path)}
    assert right
    for name in right:
        (tmp_path / name).unlink()
    done = subprocess.run(
        ["/bin/sh", "-c", f"{script} {closed}"],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert done.returncode == (ERROR if ">&-" in closed.split() else DAMAGED)
    if writer == "check" and done.returncode == ERROR:
        assert written(tmp_path) == []
    else:
        assert {name: (tmp_path / name).read_bytes() for name in written(tmp_path)} == right


# --- Permissions ---


@pytest.mark.parametrize("modes", [(0o600,), (0o640,), (0o644,), (0o640, 0o604), (0o400, 0o444)])
def test_bad_packets_have_the_permissions_of_the_captures(
    tool: str, env: dict[str, str], tmp_path: Path, modes: tuple[int, ...]
) -> None:
    paths = [tmp_path / f"{number}.pcap" for number in range(len(modes))]
    for path, mode in zip(paths, modes, strict=True):
        path.write_bytes(pcap([WRONG]))
        path.chmod(mode)
    mask = os.umask(0)
    os.umask(mask)
    subprocess.run([tool, "check", "-q", "-w", tmp_path / "out", *paths], env=env)
    allowed = 0o666 & ~mask
    for mode in modes:
        allowed &= mode | 0o600
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == allowed


def test_incomplete_file_is_private(
    running: Callable[..., subprocess.Popen[bytes]],
    writer: str,
    named_env: dict[str, str],
    tmp_path: Path,
) -> None:
    running(writer, named_env, tmp_path / "out")
    (name,) = written(tmp_path)
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_write_protected_files_are_kept(
    carry: Run, writer: str, source: Path, tmp_path: Path
) -> None:
    """A file that is read-only for everyone is refused. Root may write to all others."""
    out = tmp_path / "out"
    out.write_bytes(b"before")
    out.chmod(0o444)
    assert refused(carry, writer, out, source) == "is write-protected"
    assert out.read_bytes() == b"before"


# --- Compressed output ---

UNPACK = {"gz": ["gzip", "-dc"], "ZST": ["zstd", "-qdc"]}


@pytest.mark.parametrize("suffix", UNPACK)
def test_names_compress(
    tool: str, writer: str, env: dict[str, str], source: Path, tmp_path: Path, suffix: str
) -> None:
    """The decompressed content is equal to an uncompressed output."""
    if not shutil.which(UNPACK[suffix][0]):
        pytest.skip(f"{UNPACK[suffix][0]} is not installed")
    plain, packed = tmp_path / "out", tmp_path / f"out.{suffix}"
    for out in (plain, packed):
        subprocess.run(command(tool, writer, out, source), env=env)
    with packed.open("rb") as file:
        done = subprocess.run(UNPACK[suffix], stdin=file, capture_output=True, check=True)
    assert done.stdout == plain.read_bytes()
    assert packed.stat().st_size < plain.stat().st_size
    assert written(tmp_path) == ["out", packed.name]


def test_compressed_files_appear_whole_or_not_at_all(
    tool: str, writer: str, env: dict[str, str], source: Path, tmp_path: Path
) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    out = tmp_path / "out.gz"
    done = subprocess.run(
        command(tool, writer, out, source),
        env=env,
        stderr=subprocess.PIPE,
        preexec_fn=limit,
    )
    assert (done.returncode, done.stderr.decode()) == (ERROR, f"carry: {out}: File too large\n")
    assert written(tmp_path) == []


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_compressed_output_is_recognised(carry: Run, tmp_path: Path, suffix: str) -> None:
    """A second check of the folder skips the output of the first."""
    (tmp_path / "a.pcap").write_bytes(pcap([WRONG]))
    for _ in range(2):
        done = carry("check", "-w", tmp_path / f"bad.pcapng.{suffix}", tmp_path)
        assert (done.returncode, done.stderr) == (BAD, "")
        assert "1 capture, 1 packet: 1 bad" in done.stdout


@pytest.mark.parametrize("suffix", ["XZ", "bz2", "lz4"])
def test_names_of_compressed_files(
    carry: Run, writer: str, source: Path, tmp_path: Path, suffix: str
) -> None:
    option = {"check": "--write-bad", "fix": "--output", "log": "--log"}[writer]
    out = tmp_path / f"out.{suffix}"
    done = carry(*command("", writer, out, source)[1:])
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert f"{option} cannot compress as the name '{out}' says" in done.stderr
    assert written(tmp_path) == []
