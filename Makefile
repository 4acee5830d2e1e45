# slurm-on-ocs: one non-recursive Makefile; each folder's module.mk says what it holds.
# `make help` lists the targets. CFLAGS, CPPFLAGS and LDFLAGS are yours; ours are soc_*.

VERSION := $(shell cat VERSION)
MODE ?= release
BUILD ?= build/$(MODE)
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
LIBDIR ?= $(PREFIX)/lib/slurm-on-ocs
LIBEXECDIR ?= $(PREFIX)/libexec/slurm-on-ocs
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share/slurm-on-ocs
PYTHON ?= /usr/bin/python3
RESULTS ?= $(BUILD)/results

CFLAGS ?= -O2 -g
soc_CPPFLAGS := -I. -I$(BUILD)/include -D_GNU_SOURCE -DVERSION='"$(VERSION)"'
soc_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	-Wwrite-strings -Wundef -Wno-missing-field-initializers -fno-common -fstack-protector-strong \
	-ffunction-sections -fdata-sections -fPIE
soc_LDFLAGS := -Wl,-z,relro,-z,now -Wl,--gc-sections
ifneq ($(WERROR),)
soc_CFLAGS += -Werror
endif
ifeq ($(MODE),asan)
soc_CFLAGS += -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
soc_LDFLAGS += -fsanitize=address,undefined
STATIC := -Wl,-z,now
else
STATIC := -static
soc_CFLAGS += -fno-asynchronous-unwind-tables
endif
ifeq ($(MODE),fuzz)
soc_CFLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
soc_LDFLAGS += -fsanitize=address,undefined
endif
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

all:
.PHONY: all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:

# A change of the flags rebuilds all, one of the folders compiled in only what says that it depends on $(BUILD)/paths.
# Libraries as archives, so that a user's LD_LIBRARY_PATH can't replace them; shared where a distribution has no archive.
archive_or_shared = $(foreach l,$(1),$(if $(findstring /,$(shell $(CC) -print-file-name=lib$(l).a)),-l:lib$(l).a,-l$(l)))

comma := ,
differ = $(subst <$(1)>,,<$(2)>)
remember = $(if $(call differ,$(shell cat $(BUILD)/$(1) 2>/dev/null),$(strip $(2))),$(shell mkdir -p $(BUILD))$(file >$(BUILD)/$(1),$(strip $(2))))
$(call remember,config,$(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(soc_CFLAGS) $(VERSION))
$(call remember,paths,$(LIBEXECDIR) $(SYSCONFDIR))

# Object files of sources. translate's are in obj/, since $(BUILD)/translate is the program.
objects = $(patsubst %.c,$(BUILD)/%.o,$(filter-out translate/%,$(1))) \
	$(patsubst %.c,$(BUILD)/obj/%.o,$(filter translate/%,$(1)))

MODULES := common conf ocs translate launcher preload tests docs packaging
include $(MODULES:%=%/module.mk)

# --- objects, one archive a folder (so that a program takes only what it uses) ---
ARCHIVED := common conf ocs translate launcher
define compile
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(soc_CPPFLAGS) $($(firstword $(subst /, ,$<))_CPPFLAGS) $(CPPFLAGS) $(soc_CFLAGS) \
		$($(firstword $(subst /, ,$<))_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
endef
$(BUILD)/%.o: %.c $(BUILD)/config
	$(compile)
$(BUILD)/obj/%.o: %.c $(BUILD)/config
	$(compile)

define archive
$(BUILD)/lib$(1).a: $(call objects,$($(1)_SRCS))
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $(AR) rcs $$@ $$^
-include $(patsubst %.o,%.d,$(call objects,$($(1)_SRCS)))
endef
$(foreach m,$(ARCHIVED),$(eval $(call archive,$(m))))

all: $(PROGRAMS)

include tests/targets.mk

clean:
	rm -rf build dist
.PHONY: clean

help:
	@sed -n 's/^#: //p' $(MAKEFILE_LIST) | sort | awk -F' - ' '{printf "  %-18s %s\n", $$1, $$2}'
.PHONY: help

#: all - build everything into build/$(MODE) (default)
#: clean - remove build/
#: help - this list
