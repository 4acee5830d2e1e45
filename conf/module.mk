# conf/: all configuration; the only user of libconfig. Includes common/. Tested by tests/unit/test_conf.c.
conf_SRCS := conf/conf.c conf/keys.c
conf_CPPFLAGS := -DSYSCONFDIR='"$(SYSCONFDIR)"'
