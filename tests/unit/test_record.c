/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/record.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Every string becomes valid JSON; jansson is the judge. */
Test(record, strings)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "plain", "plain" },
		{ "", "" },
		{ "q\"b\\s/", "q\"b\\s/" },
		{ "\x01\t\n\r\x1f\x7f", "\x01\t\n\r\x1f\x7f" },
		{ "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\xff", "\xef\xbf\xbd" },
		{ "a\xc3", "a\xef\xbf\xbd" },
		{ "a\xc3z", "a\xef\xbf\xbdz" },
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },                 /* overlong */
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_error_t why;
		struct record r;
		json_t *j;

		record_begin(&r, "submit", 1, 0, 0);
		record_str(&r, "s", rows[i].in);
		strbuf_addch(&r.json, '}');
		j = json_loads(r.json.buf, JSON_REJECT_DUPLICATES, &why);
		cr_assert(j, "row %zu: %s: %s", i, why.text, r.json.buf);
		cr_expect_str_eq(json_string_value(json_object_get(j, "s")), rows[i].out, "row %zu", i);
		json_decref(j);
		record_release(&r);
	}
}

Test(record, values)
{
	char one[] = "c1", two[] = "c\"2", *nodes[] = { one, two };
	const uint32_t slots[] = { 4, 4294967295u };
	json_error_t why;
	struct record r;
	json_t *j;

	record_begin(&r, "start", 12345678901, 7, 2);
	record_str(&r, "null", NULL);
	record_int(&r, "int", -5);
	record_real(&r, "real", 1.5);
	record_real(&r, "nan", NAN);
	record_strings(&r, "nodes", nodes, 2);
	record_strings(&r, "none", NULL, 0);
	record_numbers(&r, "slots", slots, 2);
	strbuf_addch(&r.json, '}');
	j = json_loads(r.json.buf, JSON_REJECT_DUPLICATES, &why);
	cr_assert(j, "%s: %s", why.text, r.json.buf);
	cr_expect_eq(json_integer_value(json_object_get(j, "v")), 1);
	cr_expect_str_eq(json_string_value(json_object_get(j, "event")), "start");
	cr_expect_eq(json_integer_value(json_object_get(j, "job")), 12345678901);
	cr_expect_eq(json_integer_value(json_object_get(j, "task")), 7);
	cr_expect_eq(json_integer_value(json_object_get(j, "restart")), 2);
	cr_expect(fabs(json_real_value(json_object_get(j, "time")) - (double)time(NULL)) < 5);
	cr_expect(json_is_null(json_object_get(j, "null")) && json_is_null(json_object_get(j, "nan")));
	cr_expect_eq(json_integer_value(json_object_get(j, "int")), -5);
	cr_expect_eq(json_real_value(json_object_get(j, "real")), 1.5);
	cr_expect_str_eq(json_string_value(json_array_get(json_object_get(j, "nodes"), 1)), "c\"2");
	cr_expect_eq(json_array_size(json_object_get(j, "none")), 0);
	cr_expect_eq(json_integer_value(json_array_get(json_object_get(j, "slots"), 1)), 4294967295);
	json_decref(j);
	record_release(&r);
}

static char *make_folder(void)
{
	char *folder = strdup("/tmp/soc-record.XXXXXX");

	cr_assert(mkdtemp(folder));
	return folder;
}

static int append(int dir, const char *event, struct error *err)
{
	struct record r;
	int rc;

	record_begin(&r, event, 42, 3, 0);
	rc = record_append(&r, dir, 42, 3, "c1", err);
	record_release(&r);
	return rc;
}

Test(record, file)
{
	char *site = make_folder(), *spool = make_folder();
	struct error err = ERROR_INIT;
	char uid[64], path[256], text[1024] = "";
	struct stat st;
	int dir, fd;

	umask(077);
	dir = record_open_dir(site, spool, &err);
	cr_assert(dir >= 0, "%s", err.text);
	snprintf(uid, sizeof(uid), "%s/%u", site, (unsigned)geteuid());
	cr_expect(stat(uid, &st) == 0 && (st.st_mode & 07777) == 0755);
	cr_expect(append(dir, "start", &err) == 0 && append(dir, "end", &err) == 0, "%s", err.text);
	snprintf(path, sizeof(path), "%s/42.3.c1.jsonl", uid);
	cr_expect(stat(path, &st) == 0 && (st.st_mode & 07777) == 0644);
	fd = open(path, O_RDONLY);
	cr_assert(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	cr_expect(strstr(text, "\"start\"") && strstr(text, "}\n{") && strstr(text, "\"end\"") &&
		  text[strlen(text) - 1] == '\n');
	/* nothing is written through a link, or into what isn't a file */
	unlink(path);
	cr_assert(symlink("/tmp/soc-record-target", path) == 0);
	cr_expect(append(dir, "start", &err) == -1 && access("/tmp/soc-record-target", F_OK) < 0);
	unlink(path);
	cr_assert(mkfifo(path, 0600) == 0);
	cr_expect(append(dir, "start", &err) == -1);
	close(dir);
	/* no folder of the site: the spool folder */
	dir = record_open_dir("/nonexistent", spool, &err);
	cr_assert(dir >= 0, "%s", err.text);
	cr_expect(append(dir, "start", &err) == 0);
	snprintf(path, sizeof(path), "%s/42.3.c1.jsonl", spool);
	cr_expect(access(path, R_OK) == 0);
	close(dir);
	free(site);
	free(spool);
}

/* The site's folder is open to all: one of our name that somebody could write to is not taken. */
Test(record, folder_of_others)
{
	char *site = make_folder(), *spool = make_folder();
	struct error err = ERROR_INIT;
	char path[256];
	struct stat a, b;
	int dir;

	snprintf(path, sizeof(path), "%s/%u", site, (unsigned)geteuid());
	cr_assert(mkdir(path, 0700) == 0 && chmod(path, 0777) == 0);
	dir = record_open_dir(site, spool, &err);
	cr_assert(dir >= 0, "%s", err.text);
	cr_expect(fstat(dir, &a) == 0 && stat(spool, &b) == 0 && a.st_ino == b.st_ino);
	close(dir);
	cr_expect(record_open_dir(site, "/nonexistent", &err) == -1);
	free(site);
	free(spool);
}
