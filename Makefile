# reprod: make [all | demo | test | install | lint | clean | help]
VERSION := 0.1.0

BUILD   ?= build
CONFIG  ?= release
PREFIX  ?= /usr/local
DESTDIR ?=
MODULES ?= core/base core/model core/format core/driver capture capture/wire capture/log correlate snapshot replay \
	recipes profile report demo
ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS  ?= -O2 -g

# All cores, unless the caller says otherwise.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.DEFAULT_GOAL := all
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$(2)')

OUT := $(BUILD)/$(CONFIG)

# ---- packages, then the flags they give (make starts again when flags.mk was made)
ifneq ($(filter-out clean help deps,$(or $(MAKECMDGOALS),all)),)
ifneq ($(NO_DEPS),1)
ifneq ($(shell tools/install-packages --check --need build && echo present),present)
$(BUILD)/flags.mk: FORCE
endif
endif
include $(BUILD)/flags.mk
endif

$(BUILD)/flags.mk: tools/write-flags tools/packages
	$(Q)mkdir -p $(@D)
	$(Q)$(if $(filter 1,$(NO_DEPS)),,tools/install-packages --need build)
	$(Q)tools/write-flags >$@.new && mv $@.new $@

# ---- flags
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wundef -Wwrite-strings -Wstrict-prototypes \
	-Wmissing-prototypes -Wformat=2 -Wimplicit-fallthrough -Wpointer-arith -fno-common
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined
CONFIG_release  :=
CONFIG_asan     := -O1 $(SANITIZE)
CONFIG_tsan     := -O1 -fsanitize=thread
CONFIG_coverage := -O0 --coverage
CONFIG_fuzz     := -O1 $(SANITIZE) -fsanitize=fuzzer-no-link
ifeq ($(origin CONFIG_$(CONFIG)),undefined)
$(error CONFIG=$(CONFIG) is not one of release asan tsan coverage fuzz)
endif
ifeq ($(CONFIG),fuzz)
CC := clang
endif

# Every packet passes through capture and the core: -O3 and, with gcc, optimising over files
# take a tenth each off what reading costs. Fat objects: tests link without, which is quicker.
# LTO=0 saves the ten seconds that the link then takes.
LTO ?= $(if $(filter gcc gcc-%,$(notdir $(CC))),1,0)
ifeq ($(CONFIG)$(filter -O2,$(CFLAGS)),release-O2)
HOT_FLAGS := -O3 -fomit-frame-pointer $(if $(filter 1,$(LTO)),-flto -ffat-lto-objects)
LINK_HOT  := $(if $(filter 1,$(LTO)),-O3 -flto=auto)
LINK_TEST := $(if $(filter 1,$(LTO)),-fno-lto)
endif

COMPILE = $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) $(if $(filter 1,$(WERROR)),-Werror) \
	-fno-omit-frame-pointer -pthread -I. $(PKG_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(CONFIG_$(CONFIG))
LINK = $(CC) -pthread $(CFLAGS) $(CONFIG_$(CONFIG)) $(LDFLAGS)
LIBS = -Wl,--as-needed $(PKG_LIBS) -lm

# ---- what is built from what
LIB    := $(OUT)/libreprod.a
BINARY := $(OUT)/reprod
SRC    := $(foreach m,$(MODULES),$(sort $(wildcard $(m)/*.c)))
OBJ    := $(SRC:%.c=$(OUT)/%.o)

TEST_LIB   := $(OUT)/libtest.a
TEST_OBJ   := $(patsubst %.c,$(OUT)/%.o,$(wildcard tests/lib/*.c))
UNIT       := $(patsubst tests/unit/%.c,$(OUT)/tests/%,$(sort $(wildcard tests/unit/test_*.c)))
FAULT      := $(patsubst tests/fault/%.c,$(OUT)/tests/%,$(sort $(wildcard tests/fault/fault_*.c)))
FUZZ       := $(patsubst tests/fuzz/%.c,$(OUT)/tests/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
SCRIPTS    := $(sort $(wildcard tests/golden/*.t)) $(sort $(wildcard tests/e2e/*.t))
COMPILED   := $(UNIT) $(FAULT) $(FUZZ)

.PHONY: all lib tests deps demo demo-repeat test test-versions check check-asan check-corpus lint format install clean help fuzz fuzz-run FORCE
all: $(BINARY)
lib: $(LIB)
tests: $(BINARY) $(COMPILED)

# The command line is a prerequisite: another CC or other flags compile anew.
$(OUT)/command: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' '$(subst ','\'',$(COMPILE) $(HOT_FLAGS))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(COMPILE) $(HOT_FLAGS))' >$@

$(OUT)/%.o: %.c $(OUT)/command
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILE) $(HOT) $(DEFINES) -MMD -MP -c -o $@ $<

$(foreach m,capture capture/wire capture/log core/base core/model core/format,$(OUT)/$(m)/%.o): HOT = $(HOT_FLAGS)

$(OUT)/main.o: DEFINES = -DREPROD_VERSION='"$(VERSION)"' -DREPROD_SHARE='"$(PREFIX)/share/reprod"'
$(OUT)/main.o: Makefile

$(LIB): $(OBJ)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $(OBJ)

$(BINARY): $(OUT)/main.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(LINK) $(LINK_HOT) -o $@ $(OUT)/main.o $(LIB) $(LIBS)

$(TEST_LIB): $(TEST_OBJ)
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $(TEST_OBJ)

$(UNIT): $(OUT)/tests/%: $(OUT)/tests/unit/%.o $(TEST_LIB) $(LIB)
	$(call say,LD,$@)
	$(Q)$(LINK) $(LINK_TEST) -o $@ $< $(TEST_LIB) $(LIB) -lcmocka $(LIBS) -lssl

WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(FAULT): $(OUT)/tests/%: $(OUT)/tests/fault/%.o $(OUT)/tests/fault/wrap.o $(TEST_LIB) $(LIB)
	$(call say,LD,$@)
	$(Q)$(LINK) $(LINK_TEST) $(WRAP) -o $@ $< $(OUT)/tests/fault/wrap.o $(TEST_LIB) $(LIB) -lcmocka $(LIBS)

# In a normal run the corpus is replayed by a main of ours; CONFIG=fuzz has libFuzzer's.
ifeq ($(CONFIG),fuzz)
FUZZ_MAIN := -fsanitize=fuzzer
else
FUZZ_MAIN := $(OUT)/tests/fuzz/replay_main.o
endif
$(FUZZ): $(OUT)/tests/%: $(OUT)/tests/fuzz/%.o $(filter %.o,$(FUZZ_MAIN)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(LINK) $(LINK_TEST) -o $@ $< $(FUZZ_MAIN) $(LIB) $(LIBS)

-include $(OBJ:.o=.d) $(OUT)/main.d $(TEST_OBJ:.o=.d)
-include $(patsubst $(OUT)/tests/%,$(OUT)/tests/unit/%.d,$(UNIT))
-include $(patsubst $(OUT)/tests/%,$(OUT)/tests/fault/%.d,$(FAULT)) $(OUT)/tests/fault/wrap.d
-include $(patsubst $(OUT)/tests/%,$(OUT)/tests/fuzz/%.d,$(FUZZ)) $(OUT)/tests/fuzz/replay_main.d

# ---- what a user runs
deps:
	$(Q)tools/install-packages

ENV = REPROD_SHARE="$(CURDIR)"

demo: deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(ENV) $(BINARY) demo $(DEMO)

demo-repeat: deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(ENV) tools/demo-repeat $(BINARY)

test: deps
	$(Q)$(MAKE) --no-print-directory check

# The servers of other versions come by npm, into build/servers.
test-versions: deps
	$(Q)tools/install-servers
	$(Q)$(MAKE) --no-print-directory check TESTS="$(wildcard tests/versions/*.t)"

# TESTS="tests/e2e/01-*.t tests/unit/test_err.c" builds and runs only those.
CHOSEN := $(if $(TESTS),$(foreach t,$(wildcard $(TESTS)),$(if $(filter %.c,$t),$(OUT)/tests/$(basename \
	$(notdir $t)),$t)),$(COMPILED) $(SCRIPTS))
check: $(BINARY) $(filter $(OUT)/%,$(CHOSEN))
	$(Q)$(ENV) REPROD="$(abspath $(BINARY))" TEST_OUT="$(abspath $(OUT))" tools/run-tests $(CHOSEN)

check-asan:
	$(Q)$(MAKE) --no-print-directory CONFIG=asan check

# make check-corpus CORPUS=DIR: docs/corpus.md.
check-corpus: $(BINARY)
	$(Q)$(ENV) REPROD="$(abspath $(BINARY))" tools/check-corpus "$(CORPUS)"

SECONDS ?= 20
fuzz:
	$(Q)$(MAKE) --no-print-directory CONFIG=fuzz fuzz-run SECONDS=$(SECONDS)
fuzz-run: $(FUZZ)
	$(Q)set -e; for f in $(FUZZ); do name=$${f##*/fuzz_}; \
		mkdir -p $(OUT)/corpus/$$name tests/fuzz/corpus/$$name; \
		$$f -max_total_time=$(SECONDS) -print_final_stats=1 -artifact_prefix=$(OUT)/ \
			$(OUT)/corpus/$$name tests/fuzz/corpus/$$name; done

# Programs that only benchmarks run, linked as the binary is.
BENCH := $(patsubst tests/bench/%.c,$(OUT)/tests/%,$(sort $(wildcard tests/bench/*.c)))
$(BENCH): $(OUT)/tests/%: $(OUT)/tests/bench/%.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(LINK) $(LINK_HOT) -o $@ $< $(LIB) $(LIBS)

-include $(patsubst $(OUT)/tests/%,$(OUT)/tests/bench/%.d,$(BENCH))
bench-correlate: $(BENCH)
bench-%: all
	$(Q)$(ENV) REPROD="$(abspath $(BINARY))" tools/bench-$*

lint: lib
	$(Q)CC="$(CC)" CPPFLAGS="$(PKG_CFLAGS)" tools/lint "$(OUT)"

# Lays out the files that are not as .clang-format says.
format:
	$(Q)tools/list-files c h | xargs clang-format -i

install: all
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/reprod/demo" \
		"$(DESTDIR)$(PREFIX)/share/reprod/recipes/schema"
	install -m 755 $(BINARY) "$(DESTDIR)$(PREFIX)/bin/reprod"
	cp -R demo/incidents "$(DESTDIR)$(PREFIX)/share/reprod/demo/"
	for f in $(wildcard recipes/schema/*.json); do \
		install -m 644 $$f "$(DESTDIR)$(PREFIX)/share/reprod/recipes/schema/"; done
	for f in $(wildcard docs/man/*.1); do \
		install -D -m 644 $$f "$(DESTDIR)$(PREFIX)/share/man/man1/$${f##*/}"; done

clean:
	rm -rf "$(BUILD)"

help:
	@sed -n '1p' Makefile
	@echo 'variables: BUILD CONFIG=release|asan|tsan|coverage|fuzz CC CFLAGS LDFLAGS PREFIX DESTDIR'
	@echo '           V=1 (show commands) WERROR=1 LTO=0 NO_DEPS=1 (install nothing) MODULES TESTS SECONDS'
	@echo 'targets:   all lib tests check check-asan check-corpus test-versions fuzz format bench-NAME deps demo demo-repeat'
