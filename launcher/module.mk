# launcher/: shim-launch (supervisor, agents, steppers, step client), minder and starter, all static.
# Includes common/ and ocs/ (jobspec, stepspec, record, spool); never translate/.
# No libconfig, jansson or expat here: shim-launch stays under 1 MiB and starts in under 2 ms.
launcher_SRCS := launcher/loop.c
# the supervisor's life of a job
launcher_SRCS += launcher/batch.c launcher/batch_output.c launcher/batch_script.c launcher/batch_limits.c launcher/batch_requeue.c \
	launcher/batch_depend.c launcher/batch_grants.c
launcher_SRCS += launcher/alloc.c launcher/jobenv.c launcher/tree.c launcher/canary.c launcher/guard.c launcher/minded.c
# steps and the wire
launcher_SRCS += launcher/proto.c launcher/auth.c launcher/channel.c launcher/net.c launcher/dial.c
launcher_SRCS += launcher/layout.c launcher/stepenv.c launcher/filename.c launcher/tool.c
launcher_SRCS += launcher/steps.c launcher/steps_client.c launcher/steps_place.c launcher/steps_agent.c launcher/steps_ctl.c
launcher_SRCS += launcher/agent.c launcher/stepper.c launcher/stepper_io.c launcher/rank.c
launcher_SRCS += launcher/step.c launcher/step_host.c launcher/step_io.c launcher/step_end.c launcher/ctl.c

# small before fast: behind the user's own level, which would win otherwise
$(call objects,$(launcher_SRCS)): override CFLAGS := $(filter-out -O%,$(CFLAGS)) $(if $(filter release,$(MODE)),-Os,$(filter -O%,$(CFLAGS)))

# a page less between segments, and no tables for a stack that nobody unwinds: 3% of shim-launch
SMALL := -Wl,-z,noseparate-code

SHIM_LAUNCH := $(BUILD)/shim-launch
PROGRAMS += $(SHIM_LAUNCH) $(BUILD)/minder $(BUILD)/starter
$(SHIM_LAUNCH): $(BUILD)/launcher/main.o $(BUILD)/liblauncher.a $(BUILD)/libocs.a $(BUILD)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(soc_CFLAGS) $(CFLAGS) $(STATIC) $(SMALL) $(soc_LDFLAGS) $(LDFLAGS) -o $@ $^ -lsodium
	$(Q)$(if $(filter release,$(MODE)),objcopy --only-keep-debug $@ $@.debug && strip --strip-debug --strip-unneeded $@)
$(BUILD)/minder: $(BUILD)/launcher/minder.o
# its objects by name: a starter_method isn't to depend on whatever else the archives hold
$(BUILD)/starter: $(addprefix $(BUILD)/,launcher/starter.o launcher/native.o launcher/alloc.o launcher/jobenv.o \
	ocs/jobspec.o ocs/grant.o) $(BUILD)/libcommon.a
$(BUILD)/minder $(BUILD)/starter:
	$(call say,LD,$@)
	$(Q)$(CC) $(soc_CFLAGS) $(CFLAGS) $(STATIC) $(SMALL) $(soc_LDFLAGS) $(LDFLAGS) -s -o $@ $^
-include $(BUILD)/launcher/minder.d $(BUILD)/launcher/starter.d $(BUILD)/launcher/native.d $(BUILD)/launcher/main.d
