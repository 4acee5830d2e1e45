# The targets that test, check, measure and package. Included by the Makefile, behind every module.mk.

SUITES := unit golden contract system live
FUZZ_SECONDS ?= 60
SUITE_TIMEOUT ?= 1500
PYTEST_ARGS ?=
export BUILD MODE RESULTS
# Tests of whole programs meet a loaded machine, and an engine that now and then starts a job a minute late: they have a
# second try, and the report names those that took it.
pytest_live := --reruns 1 --reruns-delay 2 -r R
pytest_system := $(pytest_live)
pytest = $(PYTHON) -B -m pytest -q -p no:cacheprovider --rootdir=. -c tests/pytest.ini --continue-on-collection-errors

# --- unit tests and fuzz targets: one program a file ---
# A program links the folders that it includes and those below them, nothing else. So a layer that leaks upwards
# doesn't link, and the tests of one folder don't wait for another.
below_common := common
below_conf := conf common
below_ocs := ocs conf common
below_translate := translate ocs conf common
below_launcher := launcher ocs conf common
UNIT_SRCS := $(wildcard tests/unit/test_*.c)
FUZZ_SRCS := $(wildcard tests/fuzz/fuzz_*.c)
# words "tests/unit/test_x.c:common"
test_includes := $(shell grep -Ho '^\#include "[a-z]*/' /dev/null $(UNIT_SRCS) $(FUZZ_SRCS) | sed 's|:\#include "|:|; s|/$$||')
folders_of = $(if $(filter tests/fuzz/%,$(1)),common) $(foreach f,$(patsubst $(1):%,%,$(filter $(1):%,$(test_includes))),$(below_$(f)))
archives_of = $(foreach m,$(ARCHIVED),$(if $(filter $(m),$(call folders_of,$(1))),$(BUILD)/lib$(m).a))
UNIT_PROGRAMS := $(UNIT_SRCS:%.c=$(BUILD)/%)
FUZZ_PROGRAMS := $(FUZZ_SRCS:%.c=$(BUILD)/%)
# criterion finds tests by their section, which nothing else refers to
test_LDFLAGS := $(filter-out -Wl$(comma)--gc-sections,$(soc_LDFLAGS))
TEST_LIBS := -lconfig -ljansson -lexpat -lsodium
ifeq ($(MODE),fuzz)
FUZZ_MAIN :=
FUZZ_LINK := -fsanitize=fuzzer
else
FUZZ_MAIN := $(BUILD)/tests/fuzz/replay.o
FUZZ_LINK :=
endif

define test_program
$(BUILD)/$(1:%.c=%): $(BUILD)/$(1:%.c=%.o) $(2) $(call archives_of,$(1))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(soc_CFLAGS) $$(CFLAGS) $$(test_LDFLAGS) $$(LDFLAGS) -pie -o $$@ $$< $(2) \
		-Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group $(3) $$(TEST_LIBS)
-include $(BUILD)/$(1:%.c=%.d)
endef
$(foreach s,$(UNIT_SRCS),$(eval $(call test_program,$(s),,-lcriterion)))
$(foreach s,$(FUZZ_SRCS),$(eval $(call test_program,$(s),$(FUZZ_MAIN),$(FUZZ_LINK))))

test-programs: $(UNIT_PROGRAMS) $(FUZZ_PROGRAMS)
.PHONY: test-programs

PARALLEL := $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# --- suites. run-X writes $(RESULTS)/X*.xml (JUnit); check-X also judges them ---
run-unit:
	@mkdir -p $(RESULTS)
	$(Q)rm -f $(RESULTS)/unit-*.xml
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) -k test-programs || :
	$(Q)$(PYTHON) -B tests/checks/unit.py $(RESULTS) $(if $(UNIT),$(filter $(UNIT:%=$(BUILD)/tests/unit/test_%),$(UNIT_PROGRAMS)) \
		$(filter $(UNIT:%=$(BUILD)/tests/fuzz/fuzz_%),$(FUZZ_PROGRAMS)),$(UNIT_PROGRAMS) $(FUZZ_PROGRAMS)) || :

define pytest_suite
run-$(1): all
	@mkdir -p $$(RESULTS)
	$$(Q)rm -f $$(RESULTS)/$(1).xml
	$$(Q)timeout -s INT -k 30 $$(SUITE_TIMEOUT) $$(pytest) --junitxml=$$(RESULTS)/$(1).xml $$(PYTEST_ARGS) $$(pytest_$(1)) tests/$(1); \
		echo $$$$? >$$(RESULTS)/$(1).status
endef
$(foreach s,$(filter-out unit,$(SUITES)) clients,$(eval $(call pytest_suite,$(s))))
run-clients: deps-clients

define check_suite
check-$(1): run-$(1)
	$$(Q)$$(PYTHON) -B tests/checks/summary.py $$(RESULTS) $(1)
.PHONY: run-$(1) check-$(1)
endef
$(foreach s,$(SUITES) clients,$(eval $(call check_suite,$(s))))

# Every suite runs, whatever became of the one before; the summary alone decides. The live tests, which mostly wait for
# the engine, run beside the others, in a build of their own: the cluster installs it below another PREFIX.
check: deps
	$(Q)rm -rf $(RESULTS)
	@mkdir -p $(RESULTS)
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) all
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) BUILD=$(BUILD)/live RESULTS=$(RESULTS) run-live >$(RESULTS)/live.log 2>&1 & \
		for suite in $(filter-out live,$(SUITES)); do $(MAKE) --no-print-directory run-$$suite || :; done; \
		wait; cat $(RESULTS)/live.log
	$(Q)$(PYTHON) -B tests/checks/summary.py --promises $(RESULTS) $(SUITES)
.PHONY: check

# The preload library stays as it is (an instrumented one can't be preloaded), so ASan mustn't insist on being first.
asan: export ASAN_OPTIONS = verify_asan_link_order=0:abort_on_error=0:$(ASAN_EXTRA)
asan: export UBSAN_OPTIONS = print_stacktrace=1
asan:
	$(Q)rm -rf build/asan/results
	$(Q)$(MAKE) --no-print-directory MODE=asan BUILD=build/asan all
	$(Q)for suite in $(filter-out live,$(SUITES)); do \
		$(MAKE) --no-print-directory MODE=asan BUILD=build/asan RESULTS=build/asan/results run-$$suite || :; done
	$(Q)$(PYTHON) -B tests/checks/summary.py build/asan/results $(filter-out live,$(SUITES))
.PHONY: asan

# New inputs go to build/fuzz/corpus; `make fuzz-merge` brings the useful ones into tests/fuzz/corpus.
FUZZ ?= $(FUZZ_SRCS:tests/fuzz/fuzz_%.c=%)
fuzz:
	$(Q)$(MAKE) --no-print-directory MODE=fuzz BUILD=build/fuzz CC=clang fuzz-programs
	$(Q)PROGRAMS=build/fuzz/tests/fuzz FOUND=build/fuzz/corpus tests/checks/fuzz.sh $(FUZZ_SECONDS) $(FUZZ)

fuzz-merge:
	$(Q)$(MAKE) --no-print-directory MODE=fuzz BUILD=build/fuzz CC=clang fuzz-programs
	$(Q)PROGRAMS=build/fuzz/tests/fuzz FOUND=build/fuzz/corpus tests/checks/fuzz.sh merge $(FUZZ)

fuzz-programs: $(FUZZ_PROGRAMS)
.PHONY: fuzz fuzz-merge fuzz-programs

lint:
	$(Q)PYTHON=$(PYTHON) tests/checks/lint.sh $(CHECKS)

format:
	$(Q)git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i
.PHONY: lint format

deps:
	$(Q)packaging/deps.sh

deps-clients:
	$(Q)packaging/deps.sh clients
.PHONY: deps deps-clients

demo: all
	$(Q)tests/demo/run
.PHONY: demo

bench: all
	$(Q)tests/bench/run
.PHONY: bench

# --- installation ---
COMMANDS := $(shell sed -n 's/^COMMAND(\(.*\))$$/\1/p' common/commands.def)
STRIP ?= strip
$(preload_OBJS) $(BUILD)/conf/conf.o: $(BUILD)/paths
installation = DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' LIBEXECDIR='$(LIBEXECDIR)' BINDIR='$(BINDIR)' \
	MANDIR='$(MANDIR)' DATADIR='$(DATADIR)' SYSCONFDIR='$(SYSCONFDIR)' STRIP='$(STRIP)' BUILD='$(BUILD)' \
	VERSION='$(VERSION)' PROGRAMS='$(PROGRAMS)' COMMANDS='$(COMMANDS)' PAGES='$(docs_BUILT)' packaging/install.sh

install: all docs
	$(Q)$(installation) install

uninstall:
	$(Q)$(installation) uninstall
.PHONY: install uninstall

# --- packages ---
NAME := slurm-on-ocs-$(VERSION)
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)
DEB_FLAGS ?= -us -uc -b
RPM_FLAGS ?=

# The tarball is the tracked files and the built pages; two runs give the same bytes.
dist: docs
	$(Q)packaging/dist.sh "$(NAME)" $(docs_BUILT)

distcheck: dist
	$(Q)packaging/distcheck.sh "dist/$(NAME).tar.gz" "$(NAME)"

deb: dist
	$(Q)packaging/deb.sh "dist/$(NAME).tar.gz" "$(NAME)" $(DEB_FLAGS)

rpm: dist
	$(Q)packaging/rpm.sh "dist/$(NAME).tar.gz" "$(VERSION)" $(RPM_FLAGS)
.PHONY: dist distcheck deb rpm

#: dist - dist/slurm-on-ocs-VERSION.tar.gz, with built manual pages
#: distcheck - build, test, install and uninstall from that tarball
#: deb - Debian package in dist/
#: rpm - RPM package in dist/
#: asan - all suites but the live one, with AddressSanitizer and UBSan
#: fuzz - libFuzzer, FUZZ_SECONDS each (FUZZ="hostlist": only that one)
#: fuzz-merge - take over into tests/fuzz/corpus what fuzz found to reach new code
#: lint - format, shell, spelling, rules, gcc and clang builds, clang-tidy, cppcheck (LINT="format shell": only those)
#: format - clang-format over all C files
#: install - into DESTDIR, PREFIX, LIBDIR, LIBEXECDIR, BINDIR, MANDIR, DATADIR, SYSCONFDIR; enables nothing
#: uninstall - remove what install put there; refuses while the cluster uses it
#: deps - install what is needed to build and to check (Debian; asks for root)
#: check - deps, all, then every test; the last line counts them
#: check-unit - unit tests and the replay of the fuzz corpora (UNIT="hostlist strbuf": only those)
#: check-golden - our answers against recorded answers of Slurm (PYTEST_ARGS="-k x": only those)
#: check-contract - rules that the sources and programs keep
#: check-system - programs on this machine, without an engine
#: check-live - jobs on a real Grid Engine cluster of namespaces (root)
#: check-clients - PyTorch and JAX over two hosts of that cluster; fetches 500 MB once
#: demo - one Slurm script over three Grid Engine hosts
#: bench - ratios against the engine's own commands
