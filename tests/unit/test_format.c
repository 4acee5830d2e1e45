/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"
#include "translate/format.h"
#include "translate/job_fields.h"
#include "translate/job_ids.h"

#include <criterion/criterion.h>
#include <string.h>

static struct strbuf complaints = STRBUF_INIT;

static void invalid(const char *what)
{
	strbuf_addf(&complaints, "<%s>", what);
}

/* The value of every field is its header. */
static char *line_of(const struct format *f, const char *value)
{
	struct strbuf line = STRBUF_INIT;

	strbuf_addstr(&line, f->prefix);
	for (size_t i = 0; i < f->n; i++)
		format_add(&f->fields[i],
			   f->fields[i].field == FORMAT_LITERAL ? ""
			   : value                              ? value
								: job_field_at(f->fields[i].field)->header,
			   &line);
	return strbuf_steal(&line);
}

/* What Slurm 22.05 prints as its header for each (tests/golden/squeue has whole outputs). */
Test(format, letters)
{
	static const struct {
		const char *text, *header, *invalid;
	} rows[] = {
		{ "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R",
		  "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)",
		  "" },
		{ "lit %i", "lit JOBID", "" },
		{ "%.10i|", "     JOBID|", "" },
		{ "%-10i|", "%-10i|", "<->" },
		{ "%2j|", "NA|", "" },
		{ "%.2j|", "NA|", "" },
		{ "", "", "" },
		{ "%.i", "JOBID", "" },
		{ "%i\\n%j", "JOBID\\nNAME", "" },
		{ "%i\t%j", "JOBID\tNAME", "" },
		{ "%8i|", "JOBID   |", "" },
		{ "%i^^^%t^^^%R", "JOBID^^^ST^^^NODELIST(REASON)", "" },
		{ " %A,%T,%r", " JOBID,STATE,REASON", "" },
		{ "plain", "plain", "" },
		{ "%%i", "JOBID", "" },
		{ "%", "", "" },
		{ "%9", "%9", "<>" },
		{ "%99999999999999999999i", NULL, "" }, /* no overflow */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_format struct format f = FORMAT_INIT;
		cleanup_free char *line = NULL;

		strbuf_reset(&complaints);
		format_parse(&f, rows[i].text, job_field_by_letter, invalid);
		if (!rows[i].header) {
			cr_expect(f.fields[0].width <= 1 << 20, "row %zu", i);
			continue;
		}
		line = line_of(&f, NULL);
		cr_expect_str_eq(line, rows[i].header, "row %zu \"%s\": \"%s\"", i, rows[i].text, line);
		cr_expect_str_eq(complaints.buf, rows[i].invalid, "row %zu: %s", i, complaints.buf);
	}
}

Test(format, names)
{
	static const struct {
		const char *text, *header, *invalid;
	} rows[] = {
		{ "JobID", "JOBID               ", "" },
		{ "jobid,name", "JOBID               NAME                ", "" },
		{ "JobID:0|,Name:0", "JOBID|NAME", "" },
		{ "JobID: ,Name:,State", "JOBID NAMESTATE               ", "" },
		{ "JobID:|,Name:|", "JOBID|NAME|", "" },
		{ "JobID:.12,State:4", "       JOBIDSTAT", "" },
		{ "bogus", "", "<bogus>" },
		{ "bogus,JobID:6", "JOBID ", "<bogus>" },
		{ "", "", "" },
		{ "JobID:5,", "JOBID", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_format struct format f = FORMAT_INIT;
		cleanup_free char *line = NULL;

		strbuf_reset(&complaints);
		format_parse_names(&f, rows[i].text, job_field_by_name, invalid);
		line = line_of(&f, NULL);
		cr_expect_str_eq(line, rows[i].header, "row %zu \"%s\": \"%s\"", i, rows[i].text, line);
		cr_expect_str_eq(complaints.buf, rows[i].invalid, "row %zu: %s", i, complaints.buf);
	}
}

Test(format, every_letter_of_slurm_has_a_field)
{
	cleanup_format struct format f = FORMAT_INIT;

	strbuf_reset(&complaints);
	format_parse(&f, job_format_all, job_field_by_letter, invalid);
	cr_expect_str_eq(complaints.buf, "", "%s", complaints.buf);
	cr_expect_eq(f.n, 52, "%zu", f.n);
}

/* --- ids --- */

Test(job_ids, grammar)
{
	static const struct {
		const char *text, *ids; /* NULL: refused */
	} rows[] = {
		{ "7", "7" },       { "7,8", "7 8" },
		{ "7_3", "7_3" },   { "7_[1-3,5],9", "7_1 7_2 7_3 7_5 9" },
		{ "7_", "7_0" },    { "7_*", "7" },
		{ "7.1", "7.1" },   { "7_2.batch", "7_2.batch" },
		{ "7.", "7.0" },    { "700003", "700003" },
		{ "0", NULL },      { "abc", NULL },
		{ "7x", NULL },     { "7_x", NULL },
		{ "7_[5", NULL },   { "7_[a]", NULL },
		{ "7_[1]x", NULL }, { "7.x", NULL },
		{ "-7", NULL },     { "99999999999999999999999", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_job_ids struct job_ids ids = JOB_IDS_INIT;
		cleanup_strbuf struct strbuf got = STRBUF_INIT;
		cleanup_free char *bad = NULL;
		int rc = job_ids_parse(&ids, rows[i].text, &bad);

		cr_expect_eq(rc, rows[i].ids ? 0 : -1, "row %zu \"%s\"", i, rows[i].text);
		if (rc < 0) {
			cr_expect_str_eq(bad, rows[i].text, "row %zu: %s", i, bad);
			continue;
		}
		for (size_t k = 0; k < ids.n; k++) {
			strbuf_addf(&got, "%s%llu", k ? " " : "", (unsigned long long)ids.v[k].id);
			if (ids.v[k].has_index)
				strbuf_addf(&got, "_%u", ids.v[k].index);
			if (ids.v[k].step)
				strbuf_addf(&got, ".%s", ids.v[k].step);
		}
		cr_expect_str_eq(got.buf, rows[i].ids, "row %zu: %s", i, got.buf);
	}
}

Test(job_states, by_either_name)
{
	static const struct {
		const char *text;
		enum job_state state;
	} rows[] = {
		{ "PENDING", JOB_PENDING }, { "pd", JOB_PENDING },
		{ "R", JOB_RUNNING },       { "completing", JOB_COMPLETING },
		{ "CG", JOB_COMPLETING },   { "oom", JOB_OUT_OF_MEMORY },
		{ "TO", JOB_TIMEOUT },      { "P", JOB_STATES },
		{ "", JOB_STATES },         { "RUNNINGX", JOB_STATES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(job_state_parse(rows[i].text, strlen(rows[i].text)), rows[i].state, "row %zu",
			     i);
}
