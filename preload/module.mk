# preload/: libslurm_on_ocs.so. Links libc only, includes common/commands.def and nothing else from outside.
# The rules and their tests are in preload/rules.md. Installed 0644 as $(LIBDIR)/libslurm_on_ocs.so.
#
# Its flags are its own: it is loaded into every process of a job, under glibc 2.17 to today's and musl. So: no
# sanitizer in any MODE (the runtime would have to come first in the program), no stack protector and no fortify
# (symbols that musl or an old glibc lack), no start files (they import what nobody needs), no gc-sections (nothing may
# vanish that another object looks up). They come after the user's CFLAGS, which may ask for the opposite.
preload_SRCS := preload/preload.c preload/next.c preload/containers.c preload/native.c preload/wrap_exec.c \
	preload/wrap_spawn.c
preload_OBJS := $(preload_SRCS:%.c=$(BUILD)/%.o)
preload_LIB := $(BUILD)/libslurm_on_ocs.so
preload_OWN := -fPIC -fvisibility=hidden -fno-sanitize=all -fno-lto -fno-stack-protector -U_FORTIFY_SOURCE \
	-fno-builtin -fno-optimize-sibling-calls
preload_LINK := -shared -nostartfiles -nodefaultlibs -Wl,-soname,libslurm_on_ocs.so -Wl,-z,relro,-z,now,-z,defs \
	-Wl,-z,noexecstack,-z,noseparate-code -Wl,--hash-style=gnu -Wl,--version-script=preload/exports.map
PROGRAMS += $(preload_LIB)

$(preload_OBJS): $(BUILD)/%.o: %.c preload/module.mk $(BUILD)/config
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -I. -D_GNU_SOURCE -DLIBEXECDIR='"$(LIBEXECDIR)"' $(CPPFLAGS) -std=gnu11 \
		$(filter -W%,$(soc_CFLAGS)) $(CFLAGS) $(preload_OWN) -MMD -MP -c -o $@ $<

$(preload_LIB): $(preload_OBJS) preload/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $(preload_LINK) -o $@ $(preload_OBJS) -lc

-include $(preload_OBJS:.o=.d)
