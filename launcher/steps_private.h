/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files steps*.c alone: steps, their clients (srun), agents. */
#ifndef SOC_LAUNCHER_STEPS_PRIVATE_H
#define SOC_LAUNCHER_STEPS_PRIVATE_H

#include "launcher/net.h"
#include "launcher/proto.h"
#include "launcher/stepper.h"
#include "launcher/steps.h"
#include "launcher/tool.h"

enum place_state { PLACE_IDLE, PLACE_WAITING, PLACE_RUNNING, PLACE_GONE };

/* One host of a step. */
struct place {
	struct step *step;
	uint32_t index; /* in the step */
	uint32_t host;  /* in the job */
	enum place_state state;
	unsigned char token[PROTO_TOKEN];
	struct stepper_child stepper; /* host 0 only */
	bool is_local;                /* forked by us */
};

enum step_state { STEP_WAITING, STEP_GRANTED, STEP_RELEASED };

struct step {
	struct steps *steps;
	struct step *next; /* in order of creation */
	enum step_state state;
	uint32_t id;           /* once granted */
	struct client *client; /* NULL: srun is gone */
	struct step_create request;
	struct layout layout;
	struct place *places;
	struct step_launch launch;
	bool was_waiting, was_told; /* it had to wait; srun has been told so */
	bool done;                  /* srun reported the end */
	struct step_done result;
};

/* One srun, on this host or behind an agent. */
struct client {
	struct steps *steps;
	struct client *next;
	struct channel channel; /* closed for a relayed one */
	struct agent *agent;    /* NULL: on this host */
	uint32_t relay;
	uint32_t host; /* of the job */
	struct step *step;
	bool dead; /* freed behind this round */
	struct loop_timer gone;
};

enum agent_state { AGENT_NONE, AGENT_QUEUED, AGENT_STARTING, AGENT_UP };

/* The agent of host i of the job (i > 0). */
struct agent {
	struct steps *steps;
	uint32_t host;
	enum agent_state state;
	unsigned char key[AUTH_KEY];
	bool key_used;
	struct tool *qrsh, *qconf;
	struct net_caller *caller; /* its connection */
	struct loop_timer retry, launch_limit;
	int64_t first_try, last_up; /* ms; last_up 0: never was */
	char refusal[256];
};

struct steps {
	struct steps_config cfg;
	struct net_listener unix_listener, tcp_listener;
	char *addresses;
	uint16_t port;
	unsigned char ctl_key[AUTH_KEY];
	struct ctl *ctls;
	struct step *steps;
	struct client *clients;
	uint32_t next_id;
	struct agent *agents;     /* by host */
	uint32_t starting;        /* agents under way */
	uint32_t *used, *running; /* by host: CPUs of steps that don't share; steps of any kind */
	pid_t *pids;
	bool closed; /* no more steps begin */
	bool ending;
	int64_t kill_wait_ms;
	void (*ended)(void *arg);
	void *ended_arg;
	struct loop_timer end_kill, end_limit, end_now;
};

/* --- steps.c --- */
const char *steps_node(const struct steps *s, uint32_t host);
/* All steppers and agents are gone: tells the supervisor when it waits for that. */
void steps_check_end(struct steps *s);

/* --- steps_client.c --- */
void client_new_local(struct steps *s, int fd);
struct client *client_new_relayed(struct steps *s, struct agent *a, uint32_t relay);
struct client *client_of_relay(const struct steps *s, const struct agent *a, uint32_t relay);
void client_frame(struct client *c, const struct frame *f);
void client_send(struct client *c, uint8_t type, uint8_t flags, uint32_t rank, const void *payload, size_t n);
/* srun is gone; what it left is ended. */
void client_gone(struct client *c);

/* --- steps_place.c --- */
/* Tries to place a waiting step; sends srun the grant, the refusal or the news that it must wait. */
void step_try(struct step *st, bool woken);
void step_launch(struct step *st);
/* srun said that it is over: its CPUs are free. */
void step_release(struct step *st);
/* After any change: frees the step once srun and all its steppers are gone. */
void step_check(struct step *st);
void step_signal(struct step *st, int signo);
struct step *step_by_id(const struct steps *s, uint32_t id);
void place_gone(struct place *p, const char *why);
void step_free(struct step *st);

/* --- steps_agent.c --- */
/* The step wants a stepper on the agent's host: now, or when the agent is there. */
void agent_start_place(struct agent *a, struct place *p);
void agent_send(struct agent *a, uint8_t type, uint8_t flags, uint32_t rank, const void *payload, size_t n);
extern const struct channel_ops agent_channel_ops;
void agent_connected(struct agent *a, struct net_caller *caller);
void agents_end(struct steps *s, int64_t kill_wait_ms);
bool agents_alive(const struct steps *s);

/* --- steps_ctl.c --- */
int ctl_write_file(struct steps *s, struct error *err);
void *ctl_connected(struct steps *s, struct net_caller *caller, const struct channel_ops **ops);
void ctl_free_all(struct steps *s);

#endif
