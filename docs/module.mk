# docs/: manual pages (scdoc), the sample configuration, bash completion and support.md. What they say of options comes
# from the rows (`translate --rows`), what they say of keys from conf/keys.c. Checked by tests/contract/test_docs.py.
# A release tarball holds the built pages in docs/man/, for who has no scdoc.
SCDOC ?= scdoc
docs_PAGES := sbatch.1 srun.1 scontrol.1 squeue.1 scancel.1 sacct.1 slurm-on-ocs.conf.5 slurm-on-ocs.7 slurm-on-ocs.8
PRINT_CONF := $(BUILD)/docs/print_conf
docs_ROWS := $(BUILD)/docs/rows.tsv

$(PRINT_CONF): $(BUILD)/docs/print_conf.o $(BUILD)/libconf.a $(BUILD)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(soc_CFLAGS) $(CFLAGS) $(soc_LDFLAGS) $(LDFLAGS) -pie -o $@ $^ $(call archive_or_shared,config)
-include $(BUILD)/docs/print_conf.d

$(docs_ROWS): $(TRANSLATE)
	@mkdir -p $(@D)
	$(Q)$(TRANSLATE) --rows >$@

$(BUILD)/docs/slurm-on-ocs.conf: $(PRINT_CONF)
	$(Q)$(PRINT_CONF) sample >$@

$(BUILD)/docs/slurm-on-ocs.bash: $(docs_ROWS) docs/options.awk
	$(Q)awk -f docs/options.awk -v mode=completion $(docs_ROWS) >$@

# A line @OPTIONS@ stands for the list of the page's own command, @KEYS@ for the keys of the configuration.
$(BUILD)/docs/%.scd: docs/%.scd docs/options.awk $(docs_ROWS) $(PRINT_CONF)
	$(Q)awk -f docs/options.awk -v mode=man -v tool=$(firstword $(subst ., ,$*)) $(docs_ROWS) >$@.options
	$(Q)$(PRINT_CONF) manual >$@.keys
	$(Q)sed -e '/^@OPTIONS@$$/{r $@.options' -e 'd}' -e '/^@KEYS@$$/{r $@.keys' -e 'd}' $< >$@
	@rm -f $@.options $@.keys

ifneq ($(shell command -v $(SCDOC)),)
docs_BUILT := $(docs_PAGES:%=$(BUILD)/docs/%)
$(docs_BUILT): %: %.scd
	$(call say,SCDOC,$@)
	$(Q)SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(stat -c %Y VERSION)} $(SCDOC) <$< >$@
else
docs_BUILT := $(wildcard $(docs_PAGES:%=docs/man/%))
endif

docs: $(docs_BUILT) $(BUILD)/docs/slurm-on-ocs.conf $(BUILD)/docs/slurm-on-ocs.bash
	$(if $(docs_BUILT),,@echo "scdoc is not installed: no manual pages")
.PHONY: docs

docs/support.md: $(docs_ROWS) docs/options.awk $(wildcard tests/golden/*/differences.tsv)
	$(call say,DOC,$@)
	$(Q)docs/make-support $(docs_ROWS) >$(BUILD)/docs/support.md
	$(Q)cmp -s $(BUILD)/docs/support.md $@ && touch $@ || cp $(BUILD)/docs/support.md $@

#: docs - manual pages, sample configuration, bash completion
#: docs/support.md - every option and what becomes of it, from the option tables
