# SPDX-License-Identifier: MIT
# The targets for developers and users. Meson and ninja do the work.

BUILD   ?= build
OPTIONS ?=
PREFIX  ?= /usr/local
DESTDIR ?=
STEPS   ?=
QUICK   ?=
TARGETS ?=
CHECK   ?=
HERE    ?=
RECORD  ?=
BASE    ?=
URL     ?=

# Debian's Python is preferred to others on the PATH: Debian has python3-pytest for it.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)

# Runs commands in silence; shows their output if they fail.
quietly = { $(1); } >$(BUILD)/make.log 2>&1 || { cat $(BUILD)/make.log; exit 1; }

# The name of the library folder that Debian's linker, pkg-config and CMake search. Empty on other
# systems: Meson decides.
multiarch = $(shell cc -print-multiarch 2>/dev/null)

.PHONY: all
all: $(BUILD)/build.ninja
	@$(call quietly,ninja -C $(BUILD) build.ninja)
	@ninja --quiet -C $(BUILD) >$(BUILD)/make.log; status=$$?; \
	    grep -v 'no work to do' $(BUILD)/make.log; exit $$status
	@echo "Built $(BUILD)/tools/carry/carry"

$(BUILD)/build.ninja:
	@scripts/packages --check build
	@echo "Configuring $(BUILD)/"
	@mkdir -p $(BUILD)
	@$(call quietly,meson setup -Dtool=enabled $(multiarch:%=-Dlibdir=lib/%) $(OPTIONS) $(BUILD))

# Makes wheels for x86-64 and AArch64.
.PHONY: wheel
wheel: packages-wheel
	@mkdir -p $(BUILD)
	@$(call quietly,$(PYTHON) scripts/make_wheel.py --to dist $(BUILD)/wheel)
	@echo "Built" dist/*.whl

# Makes packages for this machine's release of Debian.
.PHONY: deb
deb: packages-deb
	@mkdir -p $(BUILD)
	@$(call quietly,scripts/make_deb $(BUILD)/deb dist/deb)
	@echo "Built" $$(ls dist/deb/*.deb | grep -v dbgsym)

.PHONY: dist
dist:
	@scripts/make_source dist
	@echo "Built dist/libcarry-$$(scripts/version).tar.xz"

# Makes the files for users in a bare Debian, by all targets or by those that TARGETS names.
.PHONY: release
release:
	@$(PYTHON) scripts/make_release.py $(if $(CHECK),--check) $(if $(HERE),--here) \
	    $(if $(URL),--url "$(URL)") $(TARGETS)

# Makes the command as one file for any Linux, on x86-64 and AArch64.
.PHONY: static
static: packages-static
	@mkdir -p $(BUILD)
	@$(call quietly,$(PYTHON) scripts/make_static.py --to dist $(BUILD)/static)
	@echo "Built" dist/carry-*-linux-*[0-9]

# Makes the crates, with the C sources that they compile.
.PHONY: crates
crates: packages-crates
	@mkdir -p $(BUILD)
	@$(call quietly,$(PYTHON) scripts/package_crates.py dist)
	@echo "Built" dist/*.crate

.PHONY: demo
demo: packages-build
	@$(MAKE) --no-print-directory all
	@scripts/demo $(BUILD)/tools/carry/carry

.PHONY: test
test:
	@$(PYTHON) scripts/run_tests.py --install=check --first $(STEPS)

# Runs all steps, or those that STEPS names; RECORD=1 records passed steps in tests/record.txt.
.PHONY: test-all
test-all:
	@$(PYTHON) scripts/run_tests.py --install=test $(if $(RECORD),--record) $(STEPS)

# Runs the steps whose inputs are not in the record, as continuous integration does.
.PHONY: test-affected
test-affected:
	@$(PYTHON) scripts/run_tests.py --affected

# Runs the tests of the changes in the working tree, or of those since BASE.
.PHONY: test-changed
test-changed:
	@$(PYTHON) scripts/run_tests.py --install=check --changed $(or $(BASE),HEAD)

# Runs all proofs, including those that take too long for each test run, and keeps the results.
.PHONY: proof
proof: all packages-test
	@$(PYTHON) proof/kernels/prove.py --record -j $$(nproc) $(BUILD)
	@CARRY_TEST_LEVEL=long CARRY_BUILD=$(BUILD) $(PYTHON) -m pytest -q -rs -p no:cacheprovider \
	    $(addprefix tests/unit/proof/test_,meanings.py encodings.py mutants.py packet_proof.py)

# Makes many wrong kernels, different ones for each SEED: the prover must refuse them.
.PHONY: refute
refute: all packages-test
	@$(PYTHON) proof/kernels/refute.py --seed $(or $(SEED),1) --sample $(or $(SAMPLE),1000) \
	    --try $(or $(TRY),50) -j $$(nproc) $(BUILD)

.PHONY: test-ring0
test-ring0:
	@CARRY_TEST_LEVEL=long $(PYTHON) scripts/run_tests.py --install=test ring0

.PHONY: coverage
coverage:
	@CARRY_COVERAGE=table $(PYTHON) scripts/run_tests.py --install=test coverage
	@sed -n '/^module/,$$p' build/test-logs/coverage.log

# Proves the whole packet walk; "make test-all" proves only what changed.
.PHONY: proof-packet
proof-packet: packages-test
	@proof/packet/run --all --record

.PHONY: instructions
instructions: all
	@$(PYTHON) scripts/check_instructions.py $(BUILD)

# Installs peers. The report names those that are not available; the library must be built.
peers = scripts/packages bench || \
    { scripts/packages --check build && echo "Continuing without them." >&2; }

.PHONY: bench
bench:
	@$(peers)
	@$(PYTHON) bench/run.py $(if $(QUICK),--quick)

.PHONY: bench-compare
bench-compare:
	@$(peers)
	@$(PYTHON) bench/compare.py $(if $(QUICK),--quick) $(or $(BASE),$(error Set BASE=revision))

.PHONY: bench-python
bench-python: all
	@$(PYTHON) bench/python.py --build $(BUILD) $(if $(QUICK),--quick)

.PHONY: bench-audit
bench-audit: all
	@$(PYTHON) bench/audit.py --build $(BUILD) $(if $(QUICK),--quick)

.PHONY: docs
docs: packages-docs
	@mkdir -p $(BUILD)
	@$(PYTHON) scripts/make_site.py $(BUILD)

.PHONY: models
models: all packages-models
	@$(PYTHON) bench/models.py --build $(BUILD) --write

# Uses a build of only the library, for AArch64.
.PHONY: models-aarch64
models-aarch64: packages-models
	@mkdir -p $(BUILD)
	@test -f $(BUILD)/aarch64/build.ninja || $(call quietly,meson setup \
	    --cross-file=cross/aarch64.ini -Dtool=disabled -Djit=disabled -Dtests=false \
	    $(BUILD)/aarch64)
	@$(call quietly,ninja -C $(BUILD)/aarch64 src/libcarry.a)
	@$(PYTHON) bench/models.py --arch aarch64 --build $(BUILD)/aarch64 --write

.PHONY: install
install: all
	@$(call quietly,meson configure $(BUILD) "-Dprefix=$(PREFIX)" && ninja -C $(BUILD))
	@meson install --quiet --no-rebuild -C $(BUILD) \
	    $(if $(DESTDIR),--destdir "$$(realpath --canonicalize-missing --no-symlinks "$(DESTDIR)")")
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig
	@echo "Installed in $(DESTDIR)$(PREFIX)"

.PHONY: uninstall
uninstall: $(BUILD)/build.ninja
	@$(call quietly,meson configure $(BUILD) "-Dprefix=$(PREFIX)" && ninja -C $(BUILD) build.ninja)
	@$(PYTHON) scripts/uninstall.py $(BUILD) "$(DESTDIR)"
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig
	@echo "Removed from $(DESTDIR)$(PREFIX)"

# Installs sets of Debian packages with apt-get.
package_sets = $(addprefix packages-,build check crates deb docs test bench models \
    static wheel)
.PHONY: $(package_sets)
$(package_sets): packages-%:
	@scripts/packages $*

.PHONY: clean
clean:
	rm -rf build build-test dist

.PHONY: help
help:
	@echo "make           builds; the tool is $(BUILD)/tools/carry/carry (OPTIONS=-Dtests=false"
	@echo "               without tests; the first build takes options, as meson_options.txt lists)"
	@echo "make demo      installs what is missing, builds, checks the captures in examples/"
	@echo "make test      installs what is missing, tests library, tool and Python package, briefly"
	@echo "make test-changed  tests what the working tree changes (BASE=revision: since then)"
	@echo "make test-all  installs what is missing, runs all tests (STEPS='fuzz docs' some of them,"
	@echo "               STEPS=list lists them; RECORD=1 keeps what passed in tests/record.txt)"
	@echo "make test-affected  runs those of all tests that the record does not show as passed"
	@echo "make proof     installs what is missing, proves all kernels anew, and records them"
	@echo "make refute    makes wrong kernels in large numbers, which must not be proven (SEED=1, of"
	@echo "               each kernel SAMPLE=1000 run, and of those that fail TRY=50 tried): hours"
	@echo "make test-ring0 installs what is missing, runs the core in emulated kernels, at length"
	@echo "make coverage  installs what is missing, says which branches of the libraries tests reach"
	@echo "make proof-packet proves the packet walk, all files of it, and keeps the result"
	@echo "make instructions counts the instructions of calls, and compares them with the record"
	@echo "make bench     installs what is missing, measures the library and its peers, fifteen"
	@echo "               minutes at most (QUICK=1 two)"
	@echo "make bench-compare BASE=revision compares the library with that of another revision"
	@echo "make bench-python measures libcarry for Python among what else is installed there"
	@echo "make bench-audit measures carry audit beside carry check; needs Ray in that Python"
	@echo "make models    installs what is missing, models kernels on CPUs that this machine lacks"
	@echo "make models-aarch64  the same for AArch64, and counts their instructions"
	@echo "make docs      installs what is missing, builds the manual as a site: $(BUILD)/site"
	@echo "make static    installs what is missing, makes the command as one file that needs no other,"
	@echo "               for x86-64 and AArch64, in dist/"
	@echo "make wheel     installs what is missing, makes wheels for Python, in dist/"
	@echo "make dist      packs the source archive, in dist/"
	@echo "make release   makes all that users get, in a bare Debian, in dist/ (TARGETS='dist wheel'"
	@echo "               some of it, HERE=1 in this system, CHECK=1 twice, and compares)"
	@echo "make deb       installs what is missing, makes packages for this Debian, in dist/deb/"
	@echo "make crates    packs the crates for Rust, in dist/"
	@echo "make install   installs library, headers, tool and manual pages (PREFIX, DESTDIR)"
	@echo "make uninstall removes them again, with the same PREFIX and DESTDIR"
	@echo "make clean     removes everything built"
