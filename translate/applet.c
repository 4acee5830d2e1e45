/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/applet.h"

#include "common/log.h"

#include <string.h>

static const struct applet *const applets[] = {
#define APPLET(name) &name##_applet,
#include "translate/applets.def"
#undef APPLET
};

const struct applet *applet_at(size_t i)
{
	return i < ARRAY_SIZE(applets) ? applets[i] : NULL;
}

const struct applet *applet_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(applets); i++)
		if (!strcmp(applets[i]->name, name))
			return applets[i];
	return NULL;
}

static struct conf conf = CONF_INIT;
static bool loaded;

static int load(struct error *err)
{
	if (!loaded && conf_load(&conf, err) < 0)
		return -1;
	loaded = true;
	return 0;
}

const struct conf *applet_conf(void)
{
	struct error err = ERROR_INIT;

	if (load(&err) < 0) {
		log_fatal("%s", err.text);
		exit(1);
	}
	return &conf;
}

const char *applet_version(void)
{
	return load(NULL) < 0 ? NULL : conf.slurm_version;
}

static int flush_error;

void applet_flush(void)
{
	if (fflush(stdout) != 0 && !flush_error)
		flush_error = errno;
}

int applet_flush_error(void)
{
	return flush_error;
}
