// SPDX-License-Identifier: MIT
//! Compiles libcarry from the sources in `vendor`, or finds the installed libraries with
//! pkg-config.

use std::env;
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The tables of kernels, below `vendor/src`.
const KERNEL_TABLES: [&str; 3] = ["copy/kernels.def", "sum/kernels.def", "sum/crc32c_kernels.def"];

/// Arguments that pad the kernels' jumps, for the GNU assembler and for Clang. The comment on
/// `branch_args` in `src/meson.build` gives the reason.
const BRANCH_ARGS: [&str; 6] = [
    "-Wa,-malign-branch-boundary=32",
    "-Wa,-malign-branch=jcc+fused+jmp+ret",
    "-Wa,-malign-branch-prefix-size=5",
    "-malign-branch-boundary=32",
    "-malign-branch=jcc,fused,jmp,ret",
    "-mpad-max-prefix-size=5",
];

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=DOCS_RS");
    if env::var_os("DOCS_RS").is_some() {
        return Ok(()); // documentation links nothing
    }
    if has_feature("system") {
        system()
    } else {
        vendored()
    }
}

fn has_feature(name: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some()
}

/// Links the installed libraries of this version: until release 1, each version has its own ABI.
#[cfg(feature = "system")]
fn system() -> Result<()> {
    let version = env::var("CARGO_PKG_VERSION")?;
    let mut names = vec!["libcarry"];
    if has_feature("capture") {
        names.push("libcarry-capture");
    }
    for name in names {
        pkg_config::Config::new().exactly_version(&version).probe(name)?;
    }
    Ok(())
}

#[cfg(not(feature = "system"))]
fn system() -> Result<()> {
    unreachable!("the feature is not on")
}

/// Compiles the files that the command in README.md compiles: `src/*/*.c` and `src/*/ARCH/*.[cS]`.
fn vendored() -> Result<()> {
    let target = env::var("CARGO_CFG_TARGET_OS")?;
    if target != "linux" {
        return Err(format!("libcarry runs on Linux, not on {target}").into());
    }
    println!("cargo:rerun-if-changed=vendor");
    let source = Path::new("vendor/src");
    let arch = match env::var("CARGO_CFG_TARGET_ARCH")?.as_str() {
        known @ ("x86_64" | "aarch64") => known.to_owned(),
        _ => "generic".to_owned(),
    };
    let kernels = kernel_names(source)?;
    let (mut sources, mut assembly, mut of_kernels) = (Vec::new(), Vec::new(), Vec::new());
    for module in entries(source)? {
        sources.extend(files(&module, "c")?);
        sources.extend(files(&module.join(&arch), "c")?);
        let (own, others) = files(&module.join(&arch), "S")?
            .into_iter()
            .partition(|path| is_kernel(path, &kernels));
        of_kernels.extend::<Vec<PathBuf>>(own);
        assembly.extend::<Vec<PathBuf>>(others);
    }
    if has_feature("capture") {
        capture()?; // must be linked before the library that it needs
    }
    // Separate, since thunk.c and thunk.S would have the same object file.
    compiler(&sources).try_compile("carry")?;
    if !assembly.is_empty() {
        compiler(&assembly).try_compile("carry-assembly")?;
    }
    if !of_kernels.is_empty() {
        kernels_in_assembly(&of_kernels)?;
    }
    println!("cargo:rustc-link-lib=c"); // programs without std do not link it by default
    println!("cargo:include={}", fs::canonicalize("vendor/include")?.display());
    Ok(())
}

/// Compiles kernels in assembly, on x86-64 with the options that pad their jumps.
fn kernels_in_assembly(sources: &[PathBuf]) -> Result<()> {
    let mut build = compiler(sources);
    for arg in BRANCH_ARGS {
        build.flag_if_supported(arg);
    }
    Ok(build.try_compile("carry-kernels")?)
}

/// Compiles libcarry-capture, with the compression formats that are enabled as features.
fn capture() -> Result<()> {
    let folder = Path::new("vendor/capture");
    let mut sources = files(folder, "c")?;
    sources.retain(|path| !path.ends_with("threads_none.c"));
    let mut unpackers = Vec::new();
    for row in rows(&folder.join("unpackers.def"), "CARRY_UNPACKER(")? {
        let [name, _, library, _] = <[String; 4]>::try_from(row).map_err(|_| "unpackers.def")?;
        unpackers.push((has_feature(&name), name, library));
    }
    for (is_on, name, _) in &unpackers {
        sources.retain(|path| *is_on || !path.ends_with(format!("unpack_{name}.c")));
    }
    let mut build = compiler(&sources);
    for (is_on, name, _) in &unpackers {
        let macro_name = format!("CARRY_UNPACKS_{name}");
        build.define(&macro_name, if *is_on { "1" } else { "0" });
    }
    build.try_compile("carry-capture")?;
    for (_, _, library) in unpackers.iter().filter(|(is_on, ..)| *is_on) {
        println!("cargo:rustc-link-lib={library}");
    }
    Ok(())
}

/// Returns a build of `sources` that is optimised in every profile: kernels are not debugged in
/// Rust.
fn compiler(sources: &[PathBuf]) -> cc::Build {
    let mut build = cc::Build::new();
    build.files(sources).include("vendor/include").include("vendor/src");
    build.flag("-fvisibility=hidden").pic(true).opt_level(2).debug(false).warnings(false);
    build
}

/// Returns the names of kernels: the second word of each row of a table (`src/sum/kernels.def`).
fn kernel_names(source: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for table in KERNEL_TABLES {
        for row in rows(&source.join(table), "CARRY_")? {
            names.extend(row.into_iter().nth(1));
        }
    }
    Ok(names)
}

/// Checks whether a file contains a kernel, or a variant of a kernel, such as `copy_avx2.S`.
fn is_kernel(path: &Path, names: &[String]) -> bool {
    let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let is_of = |name: &String| stem == name || stem.ends_with(&format!("_{name}"));
    names.iter().any(is_of)
}

/// Returns the words of each row of a table that begins with `start`, without `start`.
fn rows(table: &Path, start: &str) -> Result<Vec<Vec<String>>> {
    let text = fs::read_to_string(table).map_err(|e| format!("{}: {e}", table.display()))?;
    let rows = text.lines().filter_map(|line| line.strip_prefix(start)).map(|row| {
        row.trim_end_matches(')').split(',').map(|word| word.trim().to_owned()).collect()
    });
    Ok(rows.collect())
}

/// Returns the paths in a folder, in order. A missing folder has no paths.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = paths.collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Returns the files of a folder with the suffix `suffix`.
fn files(folder: &Path, suffix: &str) -> Result<Vec<PathBuf>> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.extension() == Some(OsStr::new(suffix)));
    Ok(paths)
}
