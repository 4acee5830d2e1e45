# ocs/: all that talks to the engine, and the files that the translator and the launcher share
# (job, step, records). Includes common/ and conf/.
ocs_SRCS := ocs/engine.c ocs/jobspec.c ocs/stepspec.c ocs/record.c ocs/spool.c ocs/qstat.c ocs/qconf.c
ocs_SRCS += ocs/complex.c ocs/grant.c ocs/qacct.c
ocs_SRCS += ocs/recordread.c ocs/recordstore.c
