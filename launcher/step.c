/* SPDX-License-Identifier: Apache-2.0 */
/* `shim-launch step FD`: srun's side of a step, from the request on the memfd to the exit code. */
#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "launcher/stepenv.h"
#include "launcher/steps.h"
#include "launcher/step_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#define SPEC_MAX (64 * 1024 * 1024)

const char *step_name(const struct srun *s)
{
	static char text[64];

	snprintf(text, sizeof(text), "%" PRIu64 ".%u", s->g.job_id, s->g.step_id);
	return text;
}

static const char *job_text(const struct srun *s)
{
	const char *id = env_get(&s->spec.env, "SLURM_JOB_ID");

	if (!id)
		id = getenv("SLURM_JOB_ID");
	return id ? id : "?";
}

void step_exit(struct srun *s, int code)
{
	s->fixed_code = code;
	s->finished = true;
	loop_stop(&s->loop);
}

static void refused(struct srun *s, const char *why)
{
	log_error("Unable to create step for job %s: %s", job_text(s), why);
	step_exit(s, CODE_REFUSED);
}

/* --- the end --- */

void step_finish_if_done(struct srun *s)
{
	cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct step_done d = { 0 };

	if (s->done_sent || !s->launched)
		return;
	for (uint32_t i = 0; i < s->g.nhosts; i++)
		if (s->hosts[i].state != HOST_DONE && s->hosts[i].state != HOST_LOST)
			return;
	for (uint32_t i = 0; i < s->g.nhosts; i++)
		end_report(&s->hosts[i]);
	if (!io_flushed(s))
		return;
	s->done_sent = true;
	s->code = end_verdict(s, &d);
	hosts_close(s);
	if (s->ctl.state != CHANNEL_OPEN) {
		step_exit(s, s->code);
		return;
	}
	step_done_pack(&d, &out);
	channel_send(&s->ctl, FRAME_STEP_DONE, 0, 0, out.buf, out.len);
}

/* --- launch --- */

static void fill_common(struct srun *s)
{
	struct hostspec *c = &s->common;
	cleanup_free const char **names = xcalloc(s->g.nhosts, sizeof(*names));
	cleanup_free char *address = net_first_address(s->addresses ? s->addresses : "127.0.0.1");
	struct stepenv_step e = {
		.step_id = s->g.step_id,
		.layout = &s->g.layout,
		.names = names,
		.job_nodelist = s->g.job_nodelist,
		.job_cpus_per_node = s->g.job_cpus_per_node,
		.job_id = s->g.job_id,
		.cpus_per_task = s->cpus_given,
		.ntasks_per_node = s->want.ntasks_per_node,
		.plane_size = s->want.plane_size,
		.overcommit = s->want.overcommit,
		.name = s->spec.name,
		.launch_address = address,
		.port = s->port,
		.umask = s->spec.umask,
		.job_gpus = getenv("SOO_JOB_GPUS"),
		.verbosity = s->spec.verbosity,
	};

	for (uint32_t i = 0; i < s->g.nhosts; i++)
		names[i] = s->g.hosts[i].name;
	stepenv_step(&s->spec.env, &e);
	c->step_id = s->g.step_id;
	c->job_id = s->g.job_id;
	c->ntasks = s->g.layout.ntasks;
	c->argv = s->spec.argv;
	c->env = s->spec.env;
	c->cwd = s->spec.chdir ? s->spec.chdir : s->spec.cwd;
	c->umask = s->spec.umask;
	c->label = s->spec.label;
	c->unbuffered = s->spec.unbuffered;
	c->open_mode = s->spec.open_mode;
	memcpy(c->limits, s->limits, sizeof(c->limits));
}

static bool any_host(const struct srun *s, bool local)
{
	for (uint32_t i = 0; i < s->g.nhosts; i++)
		if (s->g.hosts[i].local == local)
			return true;
	return false;
}

static int listen_unix(struct srun *s, struct error *err)
{
	int fd;

	s->unix_name = xasprintf("s.%u", s->g.step_id);
	s->unix_path = path_join(s->job_dir, s->unix_name);
	fd = net_listen_unix(s->job_dir, s->unix_name, err);
	if (fd < 0)
		return -1;
	return net_listener_start(&s->unix_listener, &s->loop, fd, true, s->g.auth_timeout * 1000,
				  &step_listener_ops, s, err);
}

static int listen_tcp(struct srun *s, struct error *err)
{
	int fd = net_listen_tcp(s->g.port_first, s->g.port_last, &s->port, err);

	if (fd < 0)
		return -1;
	return net_listener_start(&s->tcp_listener, &s->loop, fd, false, s->g.auth_timeout * 1000,
				  &step_listener_ops, s, err);
}

static void on_launch_limit(void *arg)
{
	struct srun *s = arg;

	for (uint32_t i = 0; i < s->g.nhosts; i++)
		if (s->hosts[i].state < HOST_READY)
			host_lost(&s->hosts[i], "no answer within launch_timeout");
}

static int launch(struct srun *s, struct error *err)
{
	cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct step_launch l = { 0 };

	s->addresses = net_addresses(s->g.interface, err);
	if (!s->addresses)
		return -1;
	/* a port that stands for one in the ranks' environment, where the step needs none */
	s->port = (uint16_t)(s->g.port_first + s->g.step_id % (s->g.port_last - s->g.port_first + 1U));
	if ((any_host(s, true) && listen_unix(s, err) < 0) || (any_host(s, false) && listen_tcp(s, err) < 0))
		return -1;
	fill_common(s);
	if (io_open(s, err) < 0)
		return -1;
	hosts_expect(s);
	l.addresses = any_host(s, false) ? s->addresses : NULL;
	l.port = s->port;
	l.unix_path = s->unix_path;
	step_launch_pack(&l, &out);
	s->launched = true;
	channel_send(&s->ctl, FRAME_STEP_LAUNCH, 0, 0, out.buf, out.len);
	channel_flush(&s->ctl);
	loop_timer_set(&s->loop, &s->launch_limit, (int64_t)s->g.launch_timeout * 1000, on_launch_limit, s);
	return 0;
}

/* --- the supervisor --- */

static void say_waited(struct srun *s, bool told)
{
	if (!told)
		log_info("Job %s step creation temporarily disabled, retrying (Requested nodes are busy)",
			 job_text(s));
	log_info("Step created for job %s", job_text(s));
}

static void take_grant(struct srun *s, const struct frame *f)
{
	struct error err = ERROR_INIT;

	if (s->granted)
		return;
	if (step_granted_unpack(&s->g, f->payload, f->length, &err) < 0) {
		refused(s, err.text);
		return;
	}
	s->granted = true;
	if (f->flags & FRAME_MORE)
		say_waited(s, f->rank != 0);
	if (launch(s, &err) < 0) {
		log_error("%s", err.text);
		step_exit(s, CODE_REFUSED);
	}
}

static void take_wait(struct srun *s, const struct frame *f)
{
	log_info("Job %s step creation %s, retrying (%.*s)", job_text(s),
		 f->flags & FRAME_MORE ? "still disabled" : "temporarily disabled", (int)f->length,
		 (const char *)f->payload);
}

static void take_lost(struct srun *s, const struct frame *f)
{
	cleanup_free char *why = xstrndup((const char *)f->payload, f->length);

	if (s->launched && f->rank < s->g.nhosts)
		host_lost(&s->hosts[f->rank], why);
}

static void on_frame(void *arg, const struct frame *f)
{
	struct srun *s = arg;
	cleanup_free char *text = NULL;

	switch (f->type) {
	case FRAME_STEP_GRANTED:
		take_grant(s, f);
		break;
	case FRAME_STEP_REFUSED:
		text = xstrndup((const char *)f->payload, f->length);
		refused(s, text);
		break;
	case FRAME_STEP_WAIT:
		take_wait(s, f);
		break;
	case FRAME_STEP_LOST:
		take_lost(s, f);
		break;
	case FRAME_STEP_SIGNAL:
		if (f->rank == SIGKILL || f->rank == SIGTERM)
			end_abort(s, ABORT_CANCEL);
		break;
	case FRAME_STEP_GONE:
		step_exit(s, s->code);
		break;
	default:
		break;
	}
}

static void on_closed(void *arg, const char *why)
{
	struct srun *s = arg;

	if (!s->granted) {
		refused(s, "Job/step already completing or completed");
		return;
	}
	if (s->done_sent) {
		step_exit(s, s->code);
		return;
	}
	log_error("lost the job's supervisor: %s", why);
	/* its steppers end by themselves; those that never came won't */
	for (uint32_t i = 0; s->launched && i < s->g.nhosts; i++)
		if (s->hosts[i].state == HOST_WAITED_FOR)
			host_lost(&s->hosts[i], "the job's supervisor was lost");
	if (!s->launched)
		step_exit(s, CODE_REFUSED);
}

static const struct channel_ops ctl_ops = { .frame = on_frame, .closed = on_closed };

static int connect_supervisor(struct srun *s, struct error *err)
{
	const char *dir = getenv("SOO_JOB_DIR");
	cleanup_free char *path = NULL;
	int fd;

	if (!dir || dir[0] != '/')
		return error_set(
			err, ERR_VALUE,
			"Unable to create step for job %s: SOO_JOB_DIR is not set: srun runs inside jobs of sbatch",
			job_text(s));
	s->job_dir = xstrdup(dir);
	path = path_join(dir, "ctl");
	fd = net_connect_unix(path, err);
	if (fd < 0) {
		log_error("Slurm job %s has expired", job_text(s));
		log_info("Check SLURM_JOB_ID environment variable. Expired or invalid job %s", job_text(s));
		err->text[0] = '\0';
		return -1;
	}
	if (channel_peer_is_us(fd) < 0) {
		close(fd);
		return error_set(err, ERR_PROTOCOL, "%s: belongs to another user", path);
	}
	return channel_plain(&s->ctl, &s->loop, fd, &ctl_ops, s, err);
}

static void ask(struct srun *s)
{
	cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct step_create c = {
		.want = s->want,
		.immediate = s->spec.immediate,
		.name = s->spec.name ? s->spec.name : (char *)path_basename(s->spec.argv.v[0]),
		.command = s->spec.argv.v[0], /* no arguments: everybody may read the record */
		.pid = (uint32_t)getpid(),
	};

	step_create_pack(&c, &out);
	channel_send(&s->ctl, FRAME_STEP_CREATE, 0, 0, out.buf, out.len);
	channel_flush(&s->ctl);
}

/* --- the request --- */

static int read_spec(struct srun *s, const char *text, struct error *err)
{
	cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	char *end;
	long fd = strtol(text, &end, 10);

	if (*end || fd < 3 || fd > INT32_MAX)
		return error_set(err, ERR_USAGE,
				 "usage: shim-launch step FD; it is started by srun, not by hand");
	if (lseek((int)fd, 0, SEEK_SET) < 0 || fd_read_to_eof((int)fd, SPEC_MAX, &bytes) < 0)
		return error_errno(err, "step request");
	close((int)fd);
	return stepspec_unpack(&s->spec, bytes.buf, bytes.len, err);
}

static void copy_request(struct srun *s)
{
	const struct stepspec *sp = &s->spec;

	s->want = (struct layout_request){
		.min_nodes = sp->min_nodes,
		.max_nodes = sp->max_nodes,
		.ntasks = sp->ntasks,
		.cpus_per_task = sp->cpus_per_task,
		.ntasks_per_node = sp->ntasks_per_node,
		.relative = sp->relative,
		.distribution = sp->distribution,
		.pack = sp->pack,
		.plane_size = sp->plane_size,
		.nodelist = xstrdup(sp->nodelist),
		.exclude = xstrdup(sp->exclude),
		.overcommit = sp->overcommit,
		.exact = sp->exact || sp->cpus_per_task != STEPSPEC_UNSET,
		.overlap = sp->overlap,
	};
	s->cpus_given = sp->cpus_per_task;
}

static uint32_t env_number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	unsigned long v;

	if (!text || *text < '0' || *text > '9')
		return LAYOUT_UNSET;
	v = strtoul(text, &end, 10);
	return *end || !v || v >= LAYOUT_UNSET ? LAYOUT_UNSET : (uint32_t)v;
}

static void print_lines(const char *text)
{
	cleanup_free char *copy = xstrdup(text);
	char *save = NULL;

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		log_error("%s", line);
}

/* Defaults, warnings and the errors that need nobody's answer. */
static int settle(struct srun *s)
{
	cleanup_argvec struct argvec warnings = ARGVEC_INIT;
	struct layout_job job = { .nodes = env_number("SLURM_JOB_NUM_NODES"),
				  .nodelist = getenv("SLURM_JOB_NODELIST"),
				  .cpus_per_node = getenv("SLURM_JOB_CPUS_PER_NODE") };
	struct error err = ERROR_INIT;
	int rc;

	if (job.nodes == LAYOUT_UNSET)
		job.nodes = env_number("SLURM_NNODES");
	rc = layout_settle(&s->want, &job, &warnings, &err);
	for (size_t i = 0; i < warnings.n; i++)
		log_bare("srun: Warning: %s", warnings.v[i]); /* -Q doesn't silence them */
	if (rc < 0)
		print_lines(err.text);
	return rc;
}

static void on_signal(void *arg, int signo, pid_t sender)
{
	struct srun *s = arg;

	if (s->granted) {
		end_signal(s, signo, sender);
		return;
	}
	if (signo == SIGINT || signo == SIGTERM || signo == SIGHUP || signo == SIGQUIT) {
		log_info("Cancelled pending job step with signal %d", signo);
		refused(s, "Job/step already completing or completed");
	}
}

static int start(struct srun *s, struct error *err)
{
	static const int handled[] = { SIGINT,  SIGQUIT, SIGCONT, SIGTERM, SIGHUP,
				       SIGALRM, SIGUSR1, SIGUSR2, SIGPIPE };
	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_SIZE(handled); i++)
		sigaddset(&mask, handled[i]);
	/* reading the terminal in the background gives an error then, not a stop */
	signal(SIGTTIN, SIG_IGN);
	if (auth_init(err) < 0 || loop_init(&s->loop, &mask, on_signal, s, err) < 0)
		return -1;
	if (connect_supervisor(s, err) < 0)
		return -1;
	ask(s);
	return loop_run(&s->loop, err);
}

static void release(struct srun *s)
{
	hosts_close(s);
	io_close(s);
	channel_close(&s->ctl);
	net_listener_stop(&s->unix_listener);
	net_listener_stop(&s->tcp_listener);
	if (s->unix_path)
		unlink(s->unix_path);
}

static void keep_limits(struct srun *s)
{
	for (int i = 0; i < HOSTSPEC_LIMITS; i++) {
		struct rlimit rl;

		s->limits[i] =
			getrlimit(i, &rl) < 0 || rl.rlim_cur == RLIM_INFINITY ? UINT64_MAX : rl.rlim_cur;
	}
	fd_raise_limit();
}

int step_main(int argc, char **argv)
{
	/* static: large, and its parts are in use until the process ends */
	static struct srun s;
	struct error err = ERROR_INIT;

	s.out.fd = s.err.fd = s.in.fd = -1;
	stepspec_init(&s.spec);
	keep_limits(&s);
	if (argc != 2 || read_spec(&s, argv[1], &err) < 0) {
		log_error("%s", argc == 2 ? err.text : "usage: shim-launch step FD");
		return CODE_REFUSED;
	}
	log_set_level(s.spec.verbosity < 0 ? LOG_QUIET : s.spec.verbosity);
	copy_request(&s);
	if (settle(&s) < 0)
		return CODE_REFUSED;
	if (start(&s, &err) < 0) {
		if (err.text[0])
			log_error("%s", err.text);
		s.fixed_code = CODE_REFUSED;
	}
	release(&s);
	return s.fixed_code;
}
