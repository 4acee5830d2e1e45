# translate/: Slurm words in, Grid Engine words out. One multi-call program, a link per command.
# Includes common/, conf/, ocs/; never launcher/ (srun execs shim-launch, whose argv and memfd are the interface).
translate_SRCS := translate/applet.c

TRANSLATE := $(BUILD)/translate
PROGRAMS += $(TRANSLATE)
$(TRANSLATE): $(BUILD)/translate/main.o $(BUILD)/libtranslate.a $(BUILD)/libocs.a $(BUILD)/libconf.a $(BUILD)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(soc_CFLAGS) $(CFLAGS) $(soc_LDFLAGS) $(LDFLAGS) -pie -o $@ $^ \
		-Wl,-Bstatic -lconfig -ljansson -lexpat -lsodium -Wl,-Bdynamic
