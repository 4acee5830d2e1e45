/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire format (docs/protocol.md): 10-byte header {type u8, flags u8, rank u32, length u32}, network order, and a
 * payload of at most 1 MiB. Pure: buffers in, structs out, no sockets. Every length is checked before it is used.
 */
#ifndef SOC_LAUNCHER_PROTO_H
#define SOC_LAUNCHER_PROTO_H

#include "common/argvec.h"
#include "common/env.h"
#include "common/error.h"
#include "common/strbuf.h"
#include "launcher/layout.h"

#include <stdbool.h>
#include <stdint.h>

#define PROTO_VERSION 1
#define PROTO_HEADER 10
#define PROTO_PAYLOAD_MAX (1024 * 1024)
#define PROTO_SEALED_MAX (PROTO_PAYLOAD_MAX + PROTO_HEADER + 17) /* a sealed frame holds one whole frame */
#define PROTO_SPEC_MAX (64 * 1024 * 1024)                        /* all parts of one SPEC */
#define PROTO_TOKEN 32

enum frame_type {
	/* every authenticated connection */
	FRAME_CHALLENGE = 1, /* listener: nonce */
	FRAME_HELLO = 2,     /* dialer: version, who, nonce, proof (struct auth_hello) */
	FRAME_WELCOME = 3,   /* listener: proof */
	FRAME_SEALED = 4,    /* one encrypted frame */
	FRAME_PING = 5,
	FRAME_PONG = 6,
	/* stepper and srun */
	FRAME_SPEC = 10,      /* srun: struct hostspec, in parts (FRAME_MORE) */
	FRAME_READY = 11,     /* stepper: every file is open; nothing has been started yet */
	FRAME_START = 12,     /* srun: every host is ready, start the ranks */
	FRAME_OUT = 13,       /* stepper: output of a rank (FRAME_STDERR, FRAME_EOF) */
	FRAME_IN = 14,        /* srun: input for a rank, or for all (RANK_ALL); FRAME_EOF: no more */
	FRAME_SIG = 15,       /* srun: a signal for every rank of the host */
	FRAME_RANK_EXIT = 16, /* stepper: struct rank_exit */
	FRAME_RANK_FAIL = 17, /* stepper: this rank, or the host (RANK_ALL), can't start: text */
	FRAME_NOTE = 18,      /* stepper: a line for srun's stderr */
	FRAME_HOST_DONE = 19, /* stepper: nothing of the step is left here */
	FRAME_IN_PAUSE =
		20, /* stepper: input of the rank (RANK_ALL) is full; FRAME_EOF: nobody reads it any more */
	FRAME_IN_RESUME = 21, /* stepper: go on */
	/* srun and supervisor (an agent relays) */
	FRAME_STEP_CREATE = 30,  /* srun: struct step_create */
	FRAME_STEP_GRANTED = 31, /* supervisor: struct step_granted */
	FRAME_STEP_REFUSED = 32, /* supervisor: text, behind "Unable to create step for job N: " */
	FRAME_STEP_WAIT = 33, /* supervisor: still busy: text; flag FRAME_MORE on the second and later ones */
	FRAME_STEP_LAUNCH = 34, /* srun: struct step_launch */
	FRAME_STEP_DONE = 35,   /* srun: struct step_done */
	FRAME_STEP_GONE = 36,   /* supervisor: the step's CPUs are free again */
	FRAME_STEP_LOST = 37,   /* supervisor: host (rank = its index in the step) won't answer: text */
	FRAME_STEP_SIGNAL = 38, /* supervisor: signal rank, as scancel of the step asks */
	/* supervisor and agent */
	FRAME_STEPPER = 40,      /* supervisor: struct stepper_start */
	FRAME_STEPPER_EXIT = 41, /* agent: rank = step id, u32 wait status */
	FRAME_STEPPERS_SIG =
		42, /* supervisor: rank = step id or RANK_ALL, u32 signal; STOP and CONT: suspension, 0: srun is gone */
	FRAME_AGENT_END = 43,   /* supervisor: end your steps, u32 ms between TERM and KILL, then exit */
	FRAME_RELAY_OPEN = 44,  /* agent: a local srun connected; rank = its number */
	FRAME_RELAY = 45,       /* both: a frame (header and payload) of that srun's conversation */
	FRAME_RELAY_CLOSE = 46, /* both */
	FRAME_AGENT_READY = 47, /* agent: its socket is there; steps may come */
	/* shim-launch ctl and supervisor */
	FRAME_CTL_CANCEL = 60, /* u32 uid */
	FRAME_CTL_SIGNAL = 61, /* u32 signal, i64 target */
	FRAME_CTL_PING = 62,
	FRAME_CTL_OK = 63,
	FRAME_CTL_ERROR = 64, /* text */
	FRAME_CTL_REQUEUE = 65,
};

enum frame_flags {
	FRAME_MORE = 1 << 0,
	FRAME_STDERR = 1 << 1,
	FRAME_EOF = 1 << 2,
};

#define RANK_ALL UINT32_MAX
#define CTL_BATCH                                                                                            \
	(-1) /* targets of FRAME_CTL_SIGNAL: the script, the script and all it started, or a step id */
#define CTL_FULL (-2)

struct frame {
	uint8_t type, flags;
	uint32_t rank;
	uint32_t length;
	const unsigned char *payload; /* borrowed */
};

void proto_header(unsigned char out[PROTO_HEADER], const struct frame *f);
/*
 * One frame at the start of data. Its whole size when it is there, 0 while bytes are missing (*need: how many in all, 0
 * when not even the header is there), -1 with err when no such frame can come (unknown type, payload above max).
 */
long proto_parse(const void *data, size_t n, size_t max, struct frame *f, size_t *need, struct error *err);
void proto_put(struct strbuf *out, uint8_t type, uint8_t flags, uint32_t rank, const void *payload, size_t n);
bool proto_known(uint8_t type);

/* --- payloads: pack appends, unpack gives -1 with err for anything malformed; release frees what unpack made --- */

struct step_create {
	struct layout_request want;
	bool immediate;
	char *name, *command; /* for the records */
	char *host;           /* node name that srun believes to be on; NULL: the supervisor's */
	uint32_t pid;
};
void step_create_pack(const struct step_create *c, struct strbuf *out);
int step_create_unpack(struct step_create *c, const void *data, size_t n, struct error *err);
void step_create_release(struct step_create *c);

/* A host of a step as srun gets to know it. */
struct step_host {
	char *name;
	uint32_t job_index;
	uint32_t cpus; /* SLURM_CPUS_ON_NODE */
	bool local;    /* srun itself runs here */
	unsigned char token[PROTO_TOKEN];
};

struct step_granted {
	uint32_t step_id;
	uint64_t job_id;
	char *job_nodelist; /* names of all hosts of the job, compressed */
	char *job_cpus_per_node;
	struct layout layout; /* over hosts[] */
	struct step_host *hosts;
	uint32_t nhosts;
	char *srun_host; /* name of the host that srun is on */
	/* settings (launch_settings of the job) */
	uint16_t port_first, port_last;
	uint32_t launch_timeout, control_timeout, ping_interval, auth_timeout, kill_wait;
	bool kill_on_bad_exit;
	char *interface;
};
void step_granted_pack(const struct step_granted *g, struct strbuf *out);
int step_granted_unpack(struct step_granted *g, const void *data, size_t n, struct error *err);
void step_granted_release(struct step_granted *g);

struct step_launch {
	char *addresses; /* "10.0.0.1,fd00::1": where srun listens; NULL: local host only */
	uint16_t port;
	char *unix_path; /* for steppers on srun's own host */
};
void step_launch_pack(const struct step_launch *l, struct strbuf *out);
int step_launch_unpack(struct step_launch *l, const void *data, size_t n, struct error *err);
void step_launch_release(struct step_launch *l);

struct step_done {
	char *state; /* COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL */
	uint32_t code, signal;
	uint64_t utime_us, stime_us, maxrss_kib;
};
void step_done_pack(const struct step_done *d, struct strbuf *out);
int step_done_unpack(struct step_done *d, const void *data, size_t n, struct error *err);
void step_done_release(struct step_done *d);

struct stepper_start {
	uint32_t step_id, host_index;
	unsigned char token[PROTO_TOKEN];
	char *addresses; /* NULL: unix_path only */
	uint16_t port;
	char *unix_path; /* NULL: srun is elsewhere */
	uint32_t control_timeout, ping_interval, auth_timeout;
};
void stepper_start_pack(const struct stepper_start *s, struct strbuf *out);
int stepper_start_unpack(struct stepper_start *s, const void *data, size_t n, struct error *err);
void stepper_start_release(struct stepper_start *s);

/* Where a rank's stream goes or comes from. */
enum stream_kind {
	STREAM_SRUN,   /* through srun */
	STREAM_NULL,   /* /dev/null */
	STREAM_FILE,   /* a file that the stepper opens (pattern, expanded per rank) */
	STREAM_STDOUT, /* stderr only: where stdout goes */
};

struct stream_spec {
	uint8_t kind;
	uint32_t only; /* STREAM_SRUN: this rank alone, the others /dev/null; RANK_ALL */
	char *pattern; /* STREAM_FILE: absolute path with the patterns of the host and rank left in */
};

#define HOSTSPEC_LIMITS 16

/* What a stepper needs to know of the step (SPEC). */
struct hostspec {
	uint32_t step_id, ntasks;
	uint64_t job_id;
	struct argvec argv;
	struct env env; /* the ranks' common environment, step shadows included */
	char *cwd;
	uint32_t umask;
	bool label, unbuffered;
	uint8_t open_mode; /* 'a' or 't' */
	struct stream_spec in, out, err;
	uint64_t limits[HOSTSPEC_LIMITS]; /* soft limits of srun by RLIMIT_ number; UINT64_MAX: unlimited */
	/* this host */
	char *node;
	uint32_t node_index, cpus;
	uint32_t *ranks;
	uint32_t nranks;
};
void hostspec_pack(const struct hostspec *s, struct strbuf *out);
int hostspec_unpack(struct hostspec *s, const void *data, size_t n, struct error *err);
void hostspec_release(struct hostspec *s);

struct rank_exit {
	uint32_t status; /* of wait4 */
	uint64_t utime_us, stime_us, maxrss_kib;
};
void rank_exit_pack(const struct rank_exit *e, struct strbuf *out);
int rank_exit_unpack(struct rank_exit *e, const void *data, size_t n, struct error *err);

#endif
