# SPDX-License-Identifier: Apache-2.0
"""A job as sbatch leaves it for the supervisor, and the supervisor run as the engine's shepherd runs it.

    job = Job(tmp_path, "#!/bin/sh\nexit 3\n", std_out="out.%j")
    assert job.run().returncode == 3
    job.output("out.77"), job.records()
"""

import json
import os
import pathlib
import struct
import subprocess
import uuid

BUILD = pathlib.Path(os.environ.get("BUILD", "build/release")).resolve()


def ignored_by_make():
    """Signals 32 and 33, which glibc's posix_spawn (make starts us by it) leaves ignored for ever: bits of SigIgn."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    ignored = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn"))
    return int(ignored, 16) & 0x180000000


UNSET = 0xFFFFFFFF
FOREVER = 2**63 - 1

# in the order of ocs/jobspec.c
STRINGS = ("name partition account qos comment command submit_dir submit_host submit_addr work_dir std_in std_out std_err "
           "export_env distribution gpus gpus_per_node gpus_per_task gpu_maps interface container_runtimes accounting_dir "
           "cluster_name").split()
NUMBERS = [  # name, struct format, default
    ("open_mode", "B", 0), ("umask", "I", 0o022), ("export_none_env", "B", 0), ("get_user_env", "B", 0),
    ("min_nodes", "I", UNSET), ("max_nodes", "I", UNSET), ("ntasks", "I", UNSET), ("ntasks_per_node", "I", UNSET),
    ("cpus_per_task", "I", UNSET), ("slots_per_host", "I", 0), ("overcommit", "B", 0), ("exclusive", "B", 0),
    ("mem_per_node_mib", "I", UNSET), ("mem_per_cpu_mib", "I", UNSET),
    ("mem_per_gpu_mib", "I", UNSET), ("cpus_per_gpu", "I", UNSET), ("time_limit", "Q", FOREVER),
    ("signal_number", "I", 0), ("signal_before", "I", 0), ("signal_batch_only", "B", 0), ("array", "", ()),
    ("array_step", "I", 0), ("requeue", "B", 0), ("deadline", "Q", 0), ("time_min", "Q", 0),
    ("port_first", "H", 61000), ("port_last", "H", 61439),
    ("launch_timeout", "I", 60), ("control_timeout", "I", 60), ("ping_interval", "I", 10), ("auth_timeout", "I", 10),
    ("race_retry", "I", 10), ("slot_retry", "I", 300), ("kill_wait", "I", 2), ("launch_window", "I", 64),
    ("kill_on_bad_exit", "B", 0),
]


def pack_string(text):
    if text is None:
        return struct.pack(">I", UNSET)
    data = os.fsencode(text)
    return struct.pack(">I", len(data)) + data


def pack(**fields):
    """The bytes of a job file (struct jobspec)."""
    out = pack_string("slurm-on-ocs job") + struct.pack(">I", 1)
    out += b"".join(pack_string(fields.pop(name, None)) for name in STRINGS)
    for name, form, default in NUMBERS:
        value = fields.pop(name, default)
        if form:
            out += struct.pack(">" + form, value)
        else:
            out += struct.pack(f">I{len(value)}I", len(value), *value)
    assert not fields, f"no such fields: {fields}"
    return out


class Job:
    """job_id: the engine's. engine: further variables of the engine, or others' values (None: not set)."""

    def __init__(self, folder, script, args=(), env=None, job_id=77, engine=None, hosts=None, **fields):
        self.folder = pathlib.Path(folder)
        self.job_id = job_id
        self.work = self.folder / "work"
        self.tmp = self.folder / f"{job_id}.1.all.q"
        self.accounting = self.folder / "acct"
        self.spool = self.folder / "spool" / "test" / str(uuid.uuid4())
        for made in (self.work, self.tmp, self.accounting):
            made.mkdir(exist_ok=True)
        self.spool.mkdir(parents=True)
        for private in (self.spool, self.spool.parent, self.spool.parent.parent):
            private.chmod(0o700)
        user_env = {"PATH": os.environ["PATH"], "HOME": str(folder)} if env is None else env
        fields = {"name": "test", "submit_dir": str(self.work), "work_dir": str(self.work), "submit_host": "login",
                  "accounting_dir": str(self.accounting), "cluster_name": "test", **fields}
        (self.spool / "job").write_bytes(pack(**fields))
        (self.spool / "script").write_text(script)
        (self.spool / "args").write_bytes(b"".join(os.fsencode(arg) + b"\0" for arg in args))
        (self.spool / "env").write_bytes(b"".join(os.fsencode(f"{k}={v}") + b"\0" for k, v in user_env.items()))
        self.env = self._engine_environment(engine or {}, hosts)

    def _engine_environment(self, engine, hosts):
        env = {"JOB_ID": str(self.job_id), "SGE_TASK_ID": "undefined", "RESTARTED": "0", "NSLOTS": "1",
               "HOSTNAME": "node1.example.org", "QUEUE": "all.q", "TMPDIR": str(self.tmp), "TMP": str(self.tmp),
               "LOGNAME": "tester", "USER": "tester", "HOME": str(self.folder), "SHELL": "/bin/sh", "SHLVL": "1",
               "PATH": f"{self.tmp}:/usr/local/bin:/bin:/usr/bin", "SGE_O_WORKDIR": str(self.work), "LANG": "xx_XX",
               "SGE_ACCOUNT": "sge", "SGE_ROOT": "/nowhere", "ENVIRONMENT": "BATCH", "JOB_NAME": "test", "TERM": ""}
        if hosts:
            lines = [f"{host} {slots} all.q@{host} UNDEFINED\n" for host, slots in hosts]
            (self.folder / "pe_hostfile").write_text("".join(lines))
            env.update(PE="make", PE_HOSTFILE=str(self.folder / "pe_hostfile"),
                       NSLOTS=str(sum(slots for _, slots in hosts)), NHOSTS=str(len(hosts)), HOSTNAME=hosts[0][0])
        env.update(engine)
        return {name: value for name, value in env.items() if value is not None}

    def start(self):
        """pid = pgid = sid, as below the shepherd."""
        command = [BUILD / "minder", BUILD / "shim-launch", "batch", self.spool]
        return subprocess.Popen(command, env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run(self, timeout=30):
        with self.start() as process:
            out, _ = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(process.args, process.returncode, out)

    def output(self, name=None):
        return (self.work / (name or f"slurm-{self.job_id}.out")).read_text()

    def records(self, host="node1"):
        name = f"{self.job_id}.{host}.jsonl"
        lines = (self.accounting / str(os.geteuid()) / name).read_text().splitlines()
        return [json.loads(line) for line in lines]

    def end(self, host="node1"):
        """The end record alone, without what every record has."""
        records = self.records(host)
        assert [r["event"] for r in records] == ["start", "end"], records
        return {k: v for k, v in records[1].items() if k not in ("v", "event", "time", "job", "task", "restart")}
