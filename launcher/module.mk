# launcher/: shim-launch (supervisor, agents, steppers, step client), minder and starter, all static.
# Includes common/ and ocs/ (jobspec, stepspec, record, spool); never translate/.
# No libconfig, jansson or expat here: shim-launch stays under 1 MiB.
launcher_SRCS :=
launcher_CFLAGS := -Os

