# SPDX-License-Identifier: MIT
"""scripts/packages: the packages that it installs if some are missing. A fake apt-get runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from carry_tool import SOURCE

# Fake commands: they report installed packages, the user root, and what apt-get would do.
COMMANDS = {
    "dpkg-query": """for name; do :; done
case " $MISSING " in *" $name "*) ;; *) echo installed ;; esac""",
    "id": "echo 0",
    "apt-get": """echo "$*" >>"$LOG"
case "$*" in
*-s*gcc-s390x-linux-gnu*) echo "Remv gcc-multilib [4:12.2.0-3]"; echo "Inst gcc-s390x-linux-gnu" ;;
*-s*) echo "Inst something" ;;
esac""",
}


class Install:
    """Runs the script on a system without the given packages."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"
        self.path = folder / "bin"
        self.path.mkdir()
        for name, text in COMMANDS.items():
            (self.path / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.path / name).chmod(0o755)

    def __call__(self, *missing: str) -> subprocess.CompletedProcess[str]:
        self.log.write_text("")
        own = {"PATH": f"{self.path}:{os.environ['PATH']}", "LOG": str(self.log)}
        return subprocess.run(
            [SOURCE / "scripts/packages", "test"],
            env=os.environ | own | {"MISSING": " ".join(missing)},
            capture_output=True,
            text=True,
            timeout=600,
        )

    def installed(self) -> list[list[str]]:
        """Returns the words of each call that would change the system."""
        calls = [line.split() for line in self.log.read_text().splitlines()]
        return [words for words in calls if "install" in words and "-s" not in words]

    def make(self, *words: str) -> str:
        """Runs make with a package missing; returns the message of the error."""
        self.log.write_text("")
        own = {
            "PATH": f"{self.path}:{os.environ['PATH']}",
            "LOG": str(self.log),
            "MISSING": "shellcheck",
        }
        command = ["make", "-C", SOURCE, *words]
        return subprocess.run(command, env=os.environ | own, capture_output=True, text=True).stderr


@pytest.fixture
def install(tmp_path: Path) -> Install:
    return Install(tmp_path)


def test_nothing_is_missing(install: Install) -> None:
    done = install()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert install.installed() == []


def test_nothing_is_removed(install: Install) -> None:
    done = install("valgrind", "lld")
    assert (done.returncode, done.stderr) == (0, "")
    (words,) = install.installed()
    assert {"--no-remove", "valgrind", "lld"} <= set(words)


def test_conflict(install: Install) -> None:
    """Nothing is installed if apt would remove a package for it."""
    done = install("valgrind", "gcc-s390x-linux-gnu")
    assert done.returncode == 1
    assert done.stderr == (
        "Nothing was installed: apt would remove gcc-multilib to install gcc-s390x-linux-gnu\n"
    )
    assert install.installed() == []


def test_other_installations_of_rust_suffice(install: Install) -> None:
    (install.path / "cargo").write_text("#!/bin/sh\n")
    (install.path / "cargo").chmod(0o755)
    done = install("valgrind", "cargo", "librust-cc-dev")
    assert (done.returncode, done.stderr) == (0, "")
    (words,) = install.installed()
    assert {"valgrind", "librust-cc-dev"} <= set(words)
    assert "cargo" not in words


def test_a_step_that_does_not_exist_is_refused_before(install: Install) -> None:
    for target, step, complaint in (
        ("test-all", "misspelt", "unknown steps: misspelt"),
        ("test", "fuzz", "of make test-all, not of make test: fuzz"),
    ):
        assert complaint in install.make(target, f"STEPS={step}")
        assert install.log.read_text() == ""
