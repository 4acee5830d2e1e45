# translate/: Slurm words in, Grid Engine words out. One multi-call program, a link per command.
# Includes common/, conf/, ocs/; never launcher/ (srun execs shim-launch, whose argv and memfd are the interface).
# One line per command, so that lines can be added without a conflict.
translate_SRCS := translate/applet.c translate/opt.c translate/opt_text.c translate/value_common.c
translate_SRCS += translate/sbatch.c translate/rows_submit.c translate/directive.c translate/request.c \
	translate/value_submit.c translate/value_timing.c translate/value_array.c translate/export.c translate/geometry.c translate/pe.c \
	translate/place.c translate/emit_qsub.c translate/stub.c translate/submit.c
translate_SRCS += translate/value_resource.c translate/resources.c translate/hosts.c \
	translate/verify.c translate/submit_engine.c
translate_SRCS += translate/wait_job.c translate/export_file.c translate/reservation.c
translate_SRCS += translate/hostnames.c
translate_SRCS += translate/depend.c translate/depend_facts.c translate/depend_job.c translate/depend_settle.c \
	translate/dependency.c translate/value_depend.c translate/depend_submit.c translate/jobs_depend.c
translate_SRCS += translate/srun.c translate/rows_srun.c translate/value_step.c
translate_SRCS += translate/operands.c translate/job_ids.c translate/jobs.c translate/jobs_complete.c translate/job_select.c translate/job.c translate/job_fields.c \
	translate/format.c translate/squeue.c translate/rows_squeue.c translate/squeue_sort.c translate/squeue_steps.c
translate_SRCS += translate/scancel.c translate/rows_scancel.c translate/supervisor.c translate/engine_delete.c
translate_SRCS += translate/scontrol.c translate/rows_scontrol.c translate/scontrol_job.c translate/scontrol_hold.c \
	translate/scontrol_requeue.c
translate_SRCS += translate/sacct.c translate/sacct_fields.c translate/sacct_time.c translate/rows_sacct.c
translate_SRCS += translate/slurm_on_ocs.c translate/install.c translate/uninstall.c translate/install_plan.c \
	translate/install_state.c

TRANSLATE := $(BUILD)/translate
PROGRAMS += $(TRANSLATE)
$(TRANSLATE): $(call objects,translate/main.c) $(BUILD)/libtranslate.a $(BUILD)/libocs.a $(BUILD)/libconf.a $(BUILD)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(soc_CFLAGS) $(CFLAGS) $(soc_LDFLAGS) $(LDFLAGS) -pie -o $@ $^ \
		$(call archive_or_shared,config jansson expat sodium)
