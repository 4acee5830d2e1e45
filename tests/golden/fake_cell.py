# SPDX-License-Identifier: Apache-2.0
"""A cell made of files: a qstat that prints the jobs of the recordings in tests/golden/squeue, and our records of them.

The recordings have user bob (6001) of account proj; here the jobs are this user's.
"""

import grp
import json
import os
import pwd
import re
import time
import xml.sax.saxutils

ME = pwd.getpwuid(os.geteuid())
# id, name, state, partition, slots, hosts, index list, limit in s, comment, state in Slurm's order of priority
JOBS = [
    (1393, "tolimit", "r", "cpu", 1, {"n1": 1}, None, 60, None),
    (1394, "run1", "r", "cpu", 6, {"n1": 6}, None, 1800, "c one"),
    (1395, "run2", "r", "gpu", 4, {"n2": 2, "n3": 2}, None, 3600, None),
    (1401, "dep", "hqw", "cpu", 1, None, None, None, None),
    (1403, "held", "hqw", "cpu", 1, None, None, None, None),
    (1404, "heldadm", "hqw", "cpu", 1, None, None, None, None),
    (1406, "arrstep", "hqw", "cpu", 2, None, [1, 5, 9, 13, 17, 30], None, None),
    (1408, "longname_abcdefghijklmnopqrstuvwxyz", "hqw", "cpu", 1, None, None, None, None),
]
USER_HELD = {1403, 1406, 1408}
SUBMITTED = {1406: "13:32:31", 1408: "13:32:32"}  # the others at 13:32:30
PRIORITY = {1393: 0.9, 1394: 0.8, 1395: 0.7}


def element(job, queue="", master="", slots=1):
    number, name, state, partition, total, hosts, indices, *_ = job
    when = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - 7))
    lines = [f"<JB_job_number>{number}</JB_job_number>", f"<JAT_prio>{PRIORITY.get(number, 0):.5f}</JAT_prio>",
             f"<JB_name>{xml.sax.saxutils.escape(name[:10])}</JB_name>", f"<JB_owner>{ME.pw_name}</JB_owner>",
             f"<state>{state}</state>",
             f"<JAT_start_time>{when}</JAT_start_time>" if hosts else f"<JB_submission_time>{when}</JB_submission_time>",
             f"<queue_name>{queue}</queue_name>", f"<master>{master}</master>",
             f"<slots>{slots if hosts else total}</slots>"]
    if indices:
        lines.append(f"<tasks>1-{len(indices)}:1</tasks>")
    lines.append(f"<full_job_name>{xml.sax.saxutils.escape(name)}</full_job_name>")
    if total > 1:
        lines.append(f'<requested_pe name="smp">{total}</requested_pe>')
        if hosts:
            lines.append(f'<granted_pe name="smp">{total}</granted_pe>')
    if number == 1401:
        lines.append("<predecessor_jobs>1394</predecessor_jobs>")
    return '<job_list state="x">' + "".join(lines) + "</job_list>"


def job_list(jobs):
    running, pending = [], []
    for job in jobs:
        hosts = job[5]
        if not hosts:
            pending.append(element(job))
            continue
        master = next(iter(hosts))
        for host, slots in hosts.items():
            queue = f"{job[3]}@{host}"
            if host == master:
                running.append(element(job, queue, "MASTER"))
            running += [element(job, queue, "SLAVE")] * slots if job[4] > 1 else []
    return ("<?xml version='1.0'?>\n<job_info><queue_info>" + "".join(running) + "</queue_info><job_info>" +
            "".join(pending) + "</job_info></job_info>\n")


def write_client(root, name, script):
    path = root / "bin" / "lx-amd64" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + script, encoding="utf-8")
    path.chmod(0o755)


def write_record(folder, job):
    number, name, _, partition, _, hosts, indices, limit, comment = job
    day = "2026-11-29T" + SUBMITTED.get(number, "13:32:30")
    when = time.mktime(time.strptime(day, "%Y-%m-%dT%H:%M:%S"))
    record = {"v": 1, "event": "submit", "time": when, "job": number, "task": 0, "restart": 0, "name": name,
              "partition": partition, "account": "proj", "qos": None, "comment": comment, "user": ME.pw_name,
              "uid": ME.pw_uid, "nodes": len(hosts) if hosts else 1, "time_limit": limit or 2**63 - 1,
              "work_dir": "/tmp" if number == 1394 else "/lab/work", "command": None,
              "std_out": "/dev/null", "std_err": None}
    if indices:
        record["array"] = indices
    (folder / f"{number}.ctl.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")


def make(root):
    """The environment of a command in this cell."""
    cell = root / "default" / "common"
    records = cell / "slurm-on-ocs" / "acct" / str(ME.pw_uid)
    records.mkdir(parents=True)
    (cell / "act_qmaster").write_text("ctl\n", encoding="utf-8")
    conf = root / "slurm-on-ocs.conf"
    conf.write_text('cluster_name = "lab";\n', encoding="utf-8")
    (root / "all.xml").write_text(job_list(JOBS), encoding="utf-8")
    (root / "held.xml").write_text(job_list([job for job in JOBS if job[0] in USER_HELD]), encoding="utf-8")
    write_client(root, "qstat", 'case "$*" in *"-s hu"*) exec cat "$SGE_ROOT/held.xml";; esac\n'
                                'exec cat "$SGE_ROOT/all.xml"\n')
    write_client(root, "qdel", 'for id; do echo "denied: job \\"$id\\" does not exist"; done; exit 1\n')
    write_client(root, "qconf", "printf 'cpu\\ngpu\\n'\n")
    for job in JOBS:
        write_record(records, job)
    return {"SGE_ROOT": str(root), "SGE_CELL": "default", "SLURM_ON_OCS_CONF": str(conf), "HOME": str(root),
            "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": os.environ.get("TZ", "UTC")}


def here(text):
    """A recording's text with this user in bob's place."""
    group = grp.getgrgid(ME.pw_gid).gr_name

    def justified(match):
        return ME.pw_name[:8].rjust(len(match[0]))

    text = re.sub(r"(?<= ) {0,5}bob(?= )", justified, text)
    text = re.sub(r"\|bob$", f"|{ME.pw_name}", text, flags=re.MULTILINE)
    text = text.replace("bob(6001) GroupId=bob(6001)", f"{ME.pw_name}({ME.pw_uid}) GroupId={group}({ME.pw_gid})")
    return re.sub(r"\|6001$", f"|{ME.pw_gid}", text, flags=re.MULTILINE)
