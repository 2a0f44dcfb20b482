# SPDX-License-Identifier: MIT
vcpkg_download_distfile(archive
  URLS "@URL@"
  FILENAME "libcarry-@VERSION@.tar.xz"
  SHA512 "@SHA512@")
vcpkg_extract_source_archive(source ARCHIVE "${archive}")

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES
  compression compression)
if(compression)
  set(compression enabled)
else()
  set(compression disabled)
endif()
vcpkg_configure_meson(SOURCE_PATH "${source}"
  OPTIONS
    "-Dcompression=${compression}"
    -Djit=disabled
    -Dpython=disabled
    -Dtests=false
    -Dtool=disabled)
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()
vcpkg_cmake_config_fixup(PACKAGE_NAME carry CONFIG_PATH lib/cmake/carry)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
