# SPDX-License-Identifier: MIT
"""Packages the libraries libcarry and libcarry-capture for Conan 2."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, get, rmdir
from conan.tools.gnu import PkgConfigDeps
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain

# Conan's packages, and their names in the requirements of a component.
COMPRESSION = {
    "bzip2/[>=1.0.8 <2]": "bzip2::bzip2",
    "lz4/[>=1.9 <2]": "lz4::lz4",
    "xz_utils/[>=5.2 <6]": "xz_utils::xz_utils",
    "zlib/[>=1.2.11 <2]": "zlib::zlib",
    "zstd/[>=1.5 <2]": "zstd::zstd",
}


class Libcarry(ConanFile):
    name = "libcarry"
    version = "@VERSION@"
    description = "Checksums of packets and captures, at the speed that the machine allows"
    license = "MIT"
    topics = ("checksum", "crc32c", "packet", "pcap")
    package_type = "library"
    settings = ("os", "arch", "compiler", "build_type")
    options: ClassVar = {
        "shared": [True, False],
        "fPIC": [True, False],
        "compression": [True, False],
    }
    default_options: ClassVar = {"shared": False, "fPIC": True, "compression": True}
    implements: ClassVar = ["auto_shared_fpic"]
    languages = "C"

    def validate(self) -> None:
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("libcarry is for Linux")

    def requirements(self) -> None:
        for package in COMPRESSION if self.options.compression else ():
            self.requires(package)

    def layout(self) -> None:
        basic_layout(self, src_folder="source")

    def source(self) -> None:
        get(self, "@URL@", sha256="@SHA256@", strip_root=True)

    def generate(self) -> None:
        PkgConfigDeps(self).generate()
        toolchain = MesonToolchain(self)
        toolchain.project_options |= {
            "compression": "enabled" if self.options.compression else "disabled",
            "jit": "disabled",
            "python": "disabled",
            "tests": "false",
            "tool": "disabled",
        }
        toolchain.generate()

    def build(self) -> None:
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self) -> None:
        Meson(self).install()
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder, "licenses")))
        for folder in ("lib/cmake", "lib/pkgconfig", "share"):  # Conan writes its own files
            rmdir(self, str(Path(self.package_folder, folder)))

    def package_info(self) -> None:
        self.cpp_info.set_property("cmake_file_name", "carry")
        core = self.cpp_info.components["carry"]
        core.libs = ["carry"]
        core.system_libs = ["dl", "pthread"]
        core.set_property("pkg_config_name", "libcarry")
        core.set_property("cmake_target_name", "carry::carry")
        capture = self.cpp_info.components["carry-capture"]
        capture.libs = ["carry-capture"]
        capture.requires = ["carry", *(COMPRESSION.values() if self.options.compression else ())]
        capture.set_property("pkg_config_name", "libcarry-capture")
        capture.set_property("cmake_target_name", "carry::carry-capture")
