# common/: no policy, no Slurm and no Grid Engine words. Includes libc and uthash only.
# Tested by tests/unit/test_<file>.c.
common_SRCS := common/error.c common/log.c common/mem.c common/strbuf.c common/argvec.c common/fd.c common/path.c \
	common/spawn.c common/env.c common/hostlist.c common/counts.c common/pack.c common/duration.c common/when.c common/login_env.c common/size.c
