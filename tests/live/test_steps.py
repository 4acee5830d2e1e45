# SPDX-License-Identifier: Apache-2.0
"""Steps over the hosts of a real engine: how they start, and that nothing is left of them however they end."""

import json
import os
import re
import time

import pytest

TRAIN = r"""
import os, socket, sys, time
rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
mine = rank + 1
if rank == 0:
    server = socket.create_server(("", where[1]))
    peers = [server.accept()[0] for _ in range(size - 1)]
    total = mine + sum(int(p.recv(64)) for p in peers)
    for p in peers:
        p.sendall(b"%d" % total)
else:
    for _ in range(100):
        try:
            peer = socket.create_connection(where)
            break
        except OSError:
            time.sleep(0.1)
    peer.sendall(b"%d" % mine)
    total = int(peer.recv(64))
print(f"rank {rank} of {size} on {socket.gethostname()} local {os.environ['SLURM_LOCALID']} node "
      f"{os.environ['SLURM_NODEID']}: {total}")
"""

# A rank that isn't easily got rid of; every process of it has the token in its command line.
HOLD = """trap '' TERM HUP INT
setsid sh -c 'trap "" TERM; while :; do sleep 1; done' TOKEN-setsid </dev/null >/dev/null 2>&1 &
sh -c 'trap "" TERM; while :; do sleep 1; done' TOKEN-child &
touch up.$SLURM_PROCID
while :; do sleep 1; done
"""


@pytest.fixture
def token(cluster, workdir):
    yield "t" + workdir.rpartition("-")[2].replace("_", "x")
    cluster.on("head", ["qdel", "-u", "alice"], user="root")


def processes(cluster, token):
    """Of every host: (host, state)."""
    return [(host, p.state[0]) for host in cluster.exec_hosts for p in cluster.ps(host) if token in p.args]


def find(cluster, host, *words):
    return [p for p in cluster.ps(host) if all(word in p.args for word in words)]


def hold(cluster, workdir, token, after="echo rc=$?", args=()):
    """A job of three hosts with a rank on each, all up: its id."""
    cluster.write(f"{workdir}/hold", "#!/bin/sh\n: " + token + "\n" + HOLD.replace("TOKEN", token), mode=0o755)
    script = f"#!/bin/bash\nsrun sh ./hold {token}-rank & wait $!; {after}\n"
    job = cluster.sbatch(script, ["-N3", "--ntasks-per-node=1", "-o", "out", *args], cwd=workdir)
    cluster.wait_until(lambda: all(cluster.exists(f"{workdir}/up.{i}") for i in range(3)), 30,
                       lambda: f"ranks aren't up: {cluster.explain(job)}")
    cluster.wait_until(lambda: len(processes(cluster, token)) >= 9, 10, "there are too few processes")
    return job


def gone(cluster, token, timeout=20):
    cluster.wait_until(lambda: not processes(cluster, token), timeout, lambda: f"left: {processes(cluster, token)}")


def test_the_script(cluster, workdir):
    cluster.write(f"{workdir}/train.py", TRAIN)
    cluster.mkdir(f"{workdir}/logs")
    script = """#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=00:10:00
#SBATCH --output=logs/%x-%j.out
set -euo pipefail
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
export MASTER_ADDR=$head MASTER_PORT=29500
srun --label --kill-on-bad-exit=1 python3 -u train.py
"""
    job = cluster.sbatch(script, cwd=workdir)
    cluster.wait_job(job)
    out = cluster.read(f"{workdir}/logs/train-{job}.out")
    want = [f"{i}: rank {i} of 6 on c{i // 2 + 1} local {i % 2} node {i // 2}: 21" for i in range(6)]
    assert sorted(out.splitlines()) == want


def test_two_steps_meet(cluster, workdir):
    script = """#!/bin/bash
srun -N1 -n1 sh -c 'touch a; until [ -e b ]; do sleep 0.05; done; echo a $SLURMD_NODENAME' &
srun -N1 -n1 sh -c 'touch b; until [ -e a ]; do sleep 0.05; done; echo b $SLURMD_NODENAME' &
wait
"""
    job = cluster.sbatch(script, ["-N2", "--ntasks-per-node=1", "-o", "out"], cwd=workdir)
    cluster.wait_job(job)
    out = sorted(cluster.read(f"{workdir}/out").split())
    assert out == ["a", "b", "c1", "c2"]


def test_srun_from_any_host_of_the_job(cluster, workdir):
    script = "#!/bin/bash\nsrun -w c3 -N1 -n1 srun -w c2 -N1 -n1 sh -c 'hostname; echo $SLURM_STEP_ID'\n"
    job = cluster.sbatch(script, ["-N3", "--ntasks-per-node=1", "-o", "out"], cwd=workdir)
    cluster.wait_job(job)
    assert cluster.read(f"{workdir}/out").split() == ["c2", "1"]


def test_exit_codes(cluster, workdir):
    script = """#!/bin/bash
ulimit -c 0
for c in 0 3 255; do srun sh -c "[ \\$SLURM_NODEID = 2 ] && exit $c; exit 0"; echo rc=$?; done
srun sh -c '[ $SLURM_NODEID = 1 ] && kill -SEGV $$; exit 0'; echo rc=$?
exit 9
"""
    job = cluster.sbatch(script, ["-N3", "--ntasks-per-node=1", "-o", "out"], cwd=workdir)
    cluster.wait_job(job)
    assert cluster.read(f"{workdir}/out").splitlines() == [
        "rc=0", "srun: error: c3: task 2: Exited with exit code 3", "rc=3",
        "srun: error: c3: task 2: Exited with exit code 255", "rc=255",
        "srun: error: c2: task 1: Segmentation fault", "rc=139"]
    assert cluster.qacct(job)[-1]["exit_status"].split()[0] == "9"


def test_files_of_ranks_and_one_that_cannot_be_opened(cluster, workdir):
    script = "#!/bin/bash\nsrun -o r.%t.%N hostname; srun -o no/r.%t touch ran; echo rc=$?\n"
    job = cluster.sbatch(script, ["-N3", "--ntasks-per-node=1", "-o", "out"], cwd=workdir)
    cluster.wait_job(job)
    for i in range(3):
        assert cluster.read(f"{workdir}/r.{i}.c{i + 1}") == f"c{i + 1}\n"
    out = cluster.read(f"{workdir}/out")
    assert "launch failed: Slurmd could not connect IO" in out and out.endswith("rc=8\n")
    assert not cluster.exists(f"{workdir}/ran")


def test_agents_live_as_long_as_the_job_and_hold_nothing_up(cluster, workdir):
    script = "#!/bin/bash\nfor i in 1 2 3 4 5; do srun true || exit 1; done; touch ran; while [ ! -e go ]; do sleep 0.1; done\n"
    job = cluster.sbatch(script, ["-N3", "--ntasks-per-node=1", "-o", "out"], cwd=workdir)
    cluster.wait_until(lambda: cluster.exists(f"{workdir}/ran"), 30, "steps don't end")
    for host in ("c2", "c3"):
        agents = find(cluster, host, "shim-launch agent")
        assert len([p for p in agents if "minder" not in p.args.split()[0]]) == 2, agents  # and its canary
        # the secret is neither there nor in what the engine keeps of the task
        assert not re.search(r"[0-9a-f]{64}", " ".join(p.args for p in agents))
    cluster.write(f"{workdir}/go", "")
    cluster.wait_job(job)
    for host in cluster.exec_hosts:
        assert not find(cluster, host, "shim-launch")
    assert cluster.qacct(job)[-1]["failed"].split()[0] == "0"


def test_srun_killed(cluster, workdir, token):
    job = hold(cluster, workdir, token, "sleep 9; echo end")
    for process in find(cluster, "c1", "shim-launch step"):
        cluster.on("c1", ["kill", "-KILL", process.pid], user="root")
    gone(cluster, token)
    assert job and cluster.wait_job(job) is None
    assert cluster.read(f"{workdir}/out").endswith("end\n")


def test_scancel(cluster, workdir, token):
    job = hold(cluster, workdir, token)
    cluster.on("head", ["scancel", job], check=True, timeout=90)
    gone(cluster, token, 60)
    cluster.wait_job(job)


def test_agent_killed(cluster, workdir, token):
    job = hold(cluster, workdir, token, "echo rc=$?; srun hostname; exit 5")
    agent = [p for p in find(cluster, "c2", "shim-launch agent") if "minder" not in p.args.split()[0]]
    cluster.on("c2", ["kill", "-KILL", min(p.pid for p in agent)], user="root")
    cluster.wait_job(job)
    out = cluster.read(f"{workdir}/out")
    assert "srun: error: Node failure on c2" in out
    assert "srun: error: c2: task 1: Lost, counted as failed" in out
    assert "rc=137" in out
    assert {"c1", "c2", "c3"} <= set(out.split())
    gone(cluster, token)
    last = cluster.qacct(job)[-1]
    assert (last["failed"].split()[0], last["exit_status"].split()[0]) == ("0", "5")


def test_supervisor_killed(cluster, workdir, token):
    job = hold(cluster, workdir, token, "echo rc=$?; srun true; echo rc=$?; exit 6")
    supervisor = [p for p in find(cluster, "c1", "shim-launch batch") if "minder" not in p.args.split()[0]]
    cluster.on("c1", ["kill", "-KILL", min(p.pid for p in supervisor)], user="root")
    gone(cluster, token)
    cluster.wait_job(job)
    out = cluster.read(f"{workdir}/out")
    assert "srun: error: lost the job's supervisor" in out
    assert f"srun: error: Slurm job {job} has expired" in out
    assert cluster.qacct(job)[-1]["exit_status"].split()[0] == "6"


@pytest.fixture(params=[0, 1], ids=["addgrp-off", "addgrp-on"], scope="module")
def addgrp(cluster, request):
    cluster.up(3, ADDGRP_KILL=request.param)
    yield request.param
    cluster.up(3, ADDGRP_KILL=os.environ.get("ADDGRP_KILL", "0"))


def test_qdel_kills_the_ranks_of_every_host(cluster, workdir, token, addgrp):
    job = hold(cluster, workdir, token)
    cluster.on("head", ["qdel", job], check=True)
    gone(cluster, token)
    cluster.wait_job(job)
    for host in cluster.exec_hosts:
        assert not find(cluster, host, "shim-launch")


def test_suspend_stops_the_ranks_of_every_host(cluster, workdir, token, addgrp):
    job = hold(cluster, workdir, token)

    def all_in(state):
        found = processes(cluster, token)
        return {host for host, _ in found} == set(cluster.exec_hosts) and {s for _, s in found} <= set(state)

    cluster.on("head", ["qmod", "-sj", job], check=True)
    cluster.wait_until(lambda: all_in("T"), 15, lambda: f"{processes(cluster, token)}")
    cluster.on("head", ["qmod", "-usj", job], check=True)
    cluster.wait_until(lambda: all_in("SR"), 15, lambda: f"{processes(cluster, token)}")
    cluster.on("head", ["qdel", job], check=True)
    gone(cluster, token)
    cluster.wait_job(job)


def test_steps_in_the_records(cluster, workdir):
    job = cluster.sbatch("#!/bin/bash\nsrun -J one true; srun -N1 -n1 sh -c 'exit 3'; exit 0\n",
                         ["-N3", "--ntasks-per-node=1", "-o", "out"], cwd=workdir)
    cluster.wait_job(job)
    found = cluster.on("head", f"cat $SGE_ROOT/$SGE_CELL/common/slurm-on-ocs/acct/*/{job}.*.jsonl", user="root").stdout
    steps = [r for r in map(json.loads, found.splitlines()) if r["event"].startswith("step_")]
    assert [(r["event"], r["step"]) for r in steps] == [("step_start", 0), ("step_end", 0), ("step_start", 1), ("step_end", 1)]
    assert (steps[0]["name"], steps[0]["nodes"]) == ("one", ["c1", "c2", "c3"])
    assert (steps[1]["state"], steps[3]["state"], steps[3]["code"]) == ("COMPLETED", "FAILED", 3)


def test_another_user_on_the_port_gets_nothing(cluster, workdir):
    script = "#!/bin/bash\nsrun -N3 true; touch up; while [ ! -e go ]; do sleep 0.1; done; srun hostname\n"
    job = cluster.sbatch(script, ["-N3", "--ntasks-per-node=1", "-o", "out"], cwd=workdir)
    cluster.wait_until(lambda: cluster.exists(f"{workdir}/up"), 30, "the job doesn't run")
    probe = r"""
import re, socket
ports = sorted({int(l.split()[1].split(":")[1], 16) for f in ("/proc/net/tcp", "/proc/net/tcp6")
                for l in open(f).readlines()[1:] if l.split()[3] == "0A"})
ports = [p for p in ports if 61000 <= p <= 61439]
assert ports
for p in ports:
    for greeting in (b"", b"GET / HTTP/1.0\r\n\r\n", b"\2\0\0\0\0\0\0\0\0\x6c" + b"\0\1\2\1" + b"\0" * 104):
        s = socket.create_connection(("127.0.0.1", p)); s.settimeout(20); s.sendall(greeting)
        got = b""
        try:
            while part := s.recv(4096): got += part
        except ConnectionResetError: pass
        print(len(got), got[:1].hex())
"""
    cluster.write(f"{cluster.home('bob')}/probe.py", probe, user="bob")
    seen = cluster.on("c1", ["python3", "probe.py"], user="bob", check=True, timeout=120).stdout.split("\n")
    assert set(filter(None, seen)) <= {"42 01", "0 "}, seen  # at most a challenge of random bytes
    tmp = cluster.on("c1", "ls -d $(dirname $(ls -d /opt/*/*/local/tmp/*/slurm-on-ocs 2>/dev/null | head -1))/slurm-on-ocs/ctl",
                     user="bob")
    assert tmp.returncode != 0
    cluster.write(f"{workdir}/go", "")
    cluster.wait_job(job)
    assert sorted(cluster.read(f"{workdir}/out").split()) == ["c1", "c2", "c3"]


def test_a_step_holds_nothing_after_its_srun(cluster, workdir):
    """srun is killed at every moment of its start; no stepper may go on looking for it."""
    job = cluster.sbatch("""#!/bin/bash
srun true
for ms in {05..70}; do
    srun sleep 60 &
    sleep 0.0$ms
    kill -9 $!
done 2>/dev/null
wait
srun --time=1 date +%s >began
""", ["-N2", "-n4", "-o", "/dev/null"], cwd=workdir)
    started = time.time()
    cluster.wait_job(job, timeout=90)
    assert cluster.read(f"{workdir}/began").split()
    assert time.time() - started < 20
