# SPDX-License-Identifier: Apache-2.0
"""A job script that leaves processes of every kind, and what became of them; records of a job."""

import json

KINDS = {"script", "child", "setsid", "daemon", "grandchild"}


def script(token, end="exec -a {token}-script sleep 600"):
    """A script whose processes are called <token>-<kind>; it writes its host into "ready" once all of them run."""
    return f"""#!/bin/bash
trap '' HUP
run() {{ exec -a {token}-$1 sleep 600; }}
run child &
setsid bash -c 'exec -a {token}-setsid sleep 600' &
(setsid bash -c '(exec -a {token}-grandchild sleep 600) & exec -a {token}-daemon sleep 600' &)
while [ "$(pgrep -cf '^{token}-')" -lt 4 ]; do sleep 0.02; done
hostname >ready.new; mv ready.new ready
{end.format(token=token)}
"""


def processes(cluster, host, token):
    """{kind: state letter} of the token's processes on host."""
    found = {}
    for process in cluster.ps(host):
        name = process.args.split()[0]
        if name.startswith(f"{token}-") and not process.state.startswith("Z"):
            found[name.removeprefix(f"{token}-")] = process.state[0]
    return found


def ours(cluster, host):
    """Our own processes there."""
    return [process for process in cluster.ps(host)
            if process.args.split()[0].rpartition("/")[2] in ("minder", "shim-launch")]


def wait_ready(cluster, workdir, timeout=30):
    """The host on which the script runs."""
    cluster.wait_until(lambda: cluster.exists(f"{workdir}/ready"), timeout, "the script isn't ready")
    return cluster.read(f"{workdir}/ready").strip()


def wait_gone(cluster, host, token, timeout=15):
    cluster.wait_until(lambda: not processes(cluster, host, token), timeout,
                       lambda: f"still there: {processes(cluster, host, token)}")
    cluster.wait_until(lambda: not ours(cluster, host), timeout, lambda: f"still there: {ours(cluster, host)}")


def records(cluster, job, host, user="alice"):
    """What our own programs wrote of the job on host: accounting folder or spool folder."""
    name = f"{job}.{host}.jsonl"
    uid = cluster.outside(cluster.home(user)).stat().st_uid
    places = [cluster.state / "root/default/common/slurm-on-ocs/acct" / str(uid) / name]
    places += cluster.outside(cluster.home(user)).glob(f".slurm-on-ocs/*/by-id/{job}/{name}")
    for place in places:
        if place.exists():
            return [json.loads(line) for line in place.read_text().splitlines()]
    return []


def events(cluster, job, host):
    """{event: the record} of a job of one run."""
    return {record["event"]: record for record in records(cluster, job, host)}
