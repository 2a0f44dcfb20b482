# SPDX-License-Identifier: MIT
class Carry < Formula
  desc "Checksums of packets and captures: right, wrong, or just offloaded?"
  homepage "@HOME@"
  url "@URL@"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "bzip2"
  depends_on "elfutils"
  depends_on "jansson"
  depends_on "libmd"
  depends_on "libpcap"
  depends_on :linux
  depends_on "lz4"
  depends_on "xz"
  depends_on "zlib"
  depends_on "zstd"

  def install
    options = %w[
      -Dcompression=enabled -Djit=disabled -Dpython=disabled -Dtests=false -Dtool=enabled
    ]
    system "meson", "setup", "build", *options, *std_meson_args
    system "meson", "compile", "-C", "build", "--verbose"
    system "meson", "install", "-C", "build"
    pkgshare.install "examples/offload.pcapng"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/carry --version")
    said = shell_output("#{bin}/carry check #{pkgshare}/offload.pcapng")
    assert_match "clean, 4 left to transmit offload", said
  end
end
