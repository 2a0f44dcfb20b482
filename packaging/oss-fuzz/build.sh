#!/bin/bash -eu
# SPDX-License-Identifier: MIT
# Builds the fuzz targets for OSS-Fuzz: with the compilers CC and CXX, CFLAGS and
# LIB_FUZZING_ENGINE, from the present folder, in WORK, to OUT. Programs run with only the files of
# OUT, so libraries are linked statically. FUZZERS may name some of the targets.

# Prints words as a list of Meson.
list() {
    printf '['
    [ $# = 0 ] || printf "'%s'," "$@"
    printf ']'
}

# Only the targets get the flags: code that reports switches of stacks must not be instrumented.
# CFLAGS is unquoted, so that it is split into words.
flags=$CFLAGS
unset CFLAGS
# shellcheck disable=SC2086
meson setup "$WORK/build" -Dfuzz=true \
    "-Dfuzz_args=$(list $flags)" "-Dfuzz_engine=$(list $LIB_FUZZING_ENGINE)" \
    -Dprefer_static=true -Ddefault_library=static -Dcompression=enabled \
    -Djit=disabled -Dprof=disabled -Dpython=disabled -Dsites=disabled -Dtool=disabled
read -ra wanted <<<"${FUZZERS-}"
targets=("${wanted[@]/#/fuzz/fuzz_}")
ninja -C "$WORK/build" fuzz/make_seeds "${targets[@]:-fuzzers}"

"$WORK/build/fuzz/make_seeds" "$WORK/frames" examples/*.pcap*
for target in "$WORK"/build/fuzz/fuzz_*; do
    [ -f "$target" ] || continue
    cp "$target" "$OUT/"
    seeds=$OUT/$(basename "$target")_seed_corpus.zip
    case $target in
    *_capture) zip --quiet --junk-paths "$seeds" examples/*.pcap* ;;
    *_fix | *_walk) zip --quiet --junk-paths -r "$seeds" "$WORK/frames" ;;
    esac
done
