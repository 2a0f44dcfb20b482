# SPDX-License-Identifier: MIT
"""The step that tests the crates for Rust."""

import itertools
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from testing.builds import BUILDS, EMULATOR
from testing.runner import ROOT, Log, StepError

# Debian's crates, so that cargo asks no registry.
CRATES = Path("/usr/share/cargo/registry")
RUST_VERSION = "1.63"
CRATE_TOOLS = ("bindgen", "cargo", "cargo-clippy", "rustfmt")
# Selects all formats of compression.
COMPRESSION = ("bzip2", "gzip", "lz4", "xz", "zstd")
ALL_FEATURES = "--features=" + ",".join(f"libcarry/{name}" for name in COMPRESSION)
# The files that the crates are packed from, and the scripts that pack them.
CRATE_SOURCES = ("LICENSE", "bindings/rust", "capture", "include", "scripts", "src")
# Architectures where the crates run under an emulator, with Debian's name and the features.
# Captures depend on the byte order, so the second architecture is big-endian.
CRATE_TARGETS: dict[str, tuple[str, list[str]]] = {
    "aarch64": ("arm64", []),
    "s390x": ("s390x", ["--features=libcarry/std"]),
}
FOREIGN_RUST = "libstd-rust-dev"
# Environment variables of cargo, and its options.
ForeignCrates = tuple[dict[str, str], list[str]]


def crate(log: Log) -> None:
    """Tests the crates for Rust, unpacked from their archives, with only Debian's crates."""
    folder = BUILDS / "crate"
    lacking = [name for name in CRATE_TOOLS if not shutil.which(name)]
    lacking += [] if any(CRATES.glob("cc-*")) else ["librust-cc-dev"]
    if lacking:
        log.skip(1, f"the crates for Rust: {', '.join(lacking)} not installed")
        return
    rustc = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True)
    is_oldest = rustc.stdout.startswith(f"rustc {RUST_VERSION}.")
    env = cargo_home(folder, ["-Dwarnings"] if is_oldest else [])  # newer versions warn more
    log.run("scripts/make_rust.py", "--check")
    unpack_crates(log, folder, env)
    manifest = ["--manifest-path", str(folder / "crates/Cargo.toml")]
    log.run("cargo", "fmt", *manifest, "--all", "--check")
    for features in (ALL_FEATURES, "--package=libcarry"):
        command = ["clippy", *manifest, "--offline", "--all-targets", features]
        log.run("cargo", *command, env=env | {"DOCS_RS": "1"})  # compiles no C: see build.rs
        log.counts.passed += 1
    bare = ["--manifest-path", str(folder / "crates/bare/Cargo.toml")]
    foreign = foreign_crates(log, folder) if is_oldest else []
    if not is_oldest:
        log.skip(1, f"crates on other architectures: needs Debian's Rust {RUST_VERSION}")
    log.run_at_once(
        ["cargo", "test", *manifest, "--offline", ALL_FEATURES],
        ["cargo", "build", *bare, "--offline", "--target-dir", folder / "target-bare"],
        *(["cargo", "test", *manifest, "--offline", *options] for _, options in foreign),
        env=env | dict(itertools.chain.from_iterable(own.items() for own, _ in foreign)),
    )
    check_bare(log, folder / "target-bare/debug/bare")
    log.run("cargo", "doc", *manifest, "--offline", "--no-deps", ALL_FEATURES, env=env)
    log.counts.passed += 1


def cargo_home(folder: Path, flags: list[str]) -> dict[str, str]:
    """Writes settings by which Cargo uses Debian's crates and the unpacked ones, and no registry;
    returns environment variables for it."""
    (folder / "home").mkdir(parents=True, exist_ok=True)
    (folder / "home/config.toml").write_text(
        f'[source]\ncrates-io.replace-with = "debian"\ndebian.directory = "{CRATES}"\n'
        f'[patch.crates-io]\nlibcarry-sys.path = "{folder / "crates/libcarry-sys"}"\n'
        f"[build]\nrustflags = {flags}\nrustdocflags = {flags}\n"
    )
    return {
        "CARGO_HOME": str(folder / "home"),
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "CARGO_TARGET_DIR": str(folder / "target"),
    }


def unpack_crates(log: Log, folder: Path, env: Mapping[str, str]) -> None:
    """Packs the crates here and from a copy in another folder, compares the archives, and unpacks
    them into a workspace like the repository's."""
    elsewhere, crates = folder / "elsewhere", folder / "crates"
    for old in (elsewhere, crates, folder / "packed"):
        shutil.rmtree(old, ignore_errors=True)
    for name in CRATE_SOURCES:
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        log.run("cp", "--recursive", "--no-dereference", ROOT / name, elsewhere / name)
    log.run("scripts/package_crates.py", folder / "packed", env=env)
    copy = elsewhere / "scripts/package_crates.py"
    log.run(sys.executable, copy, elsewhere / "packed", env=env)
    packed = sorted((folder / "packed").iterdir())
    for path in packed:
        if path.read_bytes() != (elsewhere / "packed" / path.name).read_bytes():
            raise StepError(f"{path.name} is not the same when it is packed elsewhere")
        shutil.unpack_archive(path, crates, "gztar")
        (crates / path.stem).rename(crates / path.stem.rpartition("-")[0])
        log.counts.passed += 1
    for name in ("Cargo.toml", "rustfmt.toml", "bare"):
        log.run("cp", "--recursive", ROOT / "bindings/rust" / name, crates)


def check_bare(log: Log, program: Path) -> None:
    """Runs a program built without Rust's standard library, and checks that it needs no shared
    library except the C library."""
    log.run(program)
    command = ["readelf", "--dynamic", str(program)]
    dynamic = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    if needed != ["libc.so.6"]:
        raise StepError(f"a program without std needs {', '.join(needed)}")
    log.counts.passed += 1


def foreign_rust(target: str) -> Path:
    """Returns where Rust's standard library for an architecture is unpacked."""
    return BUILDS / f"foreign-rust-{target}"


def foreign_crates(log: Log, folder: Path) -> list[ForeignCrates]:
    """Returns the settings for each architecture whose crates can be compiled, and run by an
    emulator."""
    lacking = [t for t in CRATE_TARGETS if not (foreign_rust(t) / "usr/lib/rustlib").is_dir()]
    fetches = {
        t: log.start("scripts/fetch_foreign", CRATE_TARGETS[t][0], foreign_rust(t), FOREIGN_RUST)
        for t in lacking
    }
    absent = set()
    for target, fetch in fetches.items():
        try:
            log.finish(fetch)
        except StepError as error:
            log.skip_without(f"the crates for {target}", error)
            absent.add(target)
    return [foreign_crate(folder, target) for target in CRATE_TARGETS if target not in absent]


def foreign_crate(folder: Path, target: str) -> ForeignCrates:
    root, features = foreign_rust(target), CRATE_TARGETS[target][1]
    triple = f"{target}-unknown-linux-gnu"
    setting = f"CARGO_TARGET_{triple.replace('-', '_').upper()}"
    emulator = [*EMULATOR, f"qemu-{target}", "-L", f"/usr/{target}-linux-gnu"]
    env = {
        f"{setting}_LINKER": f"{target}-linux-gnu-gcc",
        f"{setting}_RUNNER": shlex.join(emulator),
        f"{setting}_RUSTFLAGS": f"-Dwarnings --sysroot={root / 'usr'}",
    }
    return env, ["--target", triple, "--target-dir", str(folder / f"target-{target}"), *features]
