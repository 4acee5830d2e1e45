#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""probe.py FILE [CODE [WORD...]]: what this process and those above it, up to the engine's, were started with.

Writes a list of processes, this one first, as JSON into FILE, and exits with CODE.
"""

import json
import os
import pathlib
import re
import sys

ENGINE = ("sge_shepherd", "qrsh_starter", "sge_execd")


def words(path):
    return path.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]


def status(proc):
    wanted = ("Umask", "Groups", "SigBlk", "SigIgn", "Uid", "Gid", "NoNewPrivs", "Seccomp")
    lines = (proc / "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines) if name in wanted}


def descriptors(proc):
    found = {}
    for fd in sorted((proc / "fd").iterdir(), key=lambda p: int(p.name)):
        try:
            target = re.sub(r":\[\d+\]", ":[]", os.readlink(fd))
            flags = re.search(r"flags:\s*(\d+)", (proc / "fdinfo" / fd.name).read_text())[1]
        except OSError:
            continue
        if f"/proc/{proc.name}/" not in target:  # the folder that is being read
            found[fd.name] = [target, flags]
    return found


def describe(pid):
    proc = pathlib.Path("/proc", str(pid))
    facts = status(proc)
    facts["Groups"] = len(facts["Groups"].split())  # one of them is the job's number
    stat = (proc / "stat").read_text().rpartition(")")[2].split()
    return {"exe": os.readlink(proc / "exe"), "argv": words(proc / "cmdline"), "environ": words(proc / "environ"),
            "cwd": os.readlink(proc / "cwd"), "limits": (proc / "limits").read_text(), "status": facts,
            "fds": descriptors(proc), "leads_group": int(stat[2]) == pid, "leads_session": int(stat[3]) == pid,
            "nice": stat[16]}


def main():
    pid, found = os.getpid(), []
    while pid > 1:
        proc = pathlib.Path("/proc", str(pid))
        if (proc / "comm").read_text().strip() in ENGINE:
            break
        found.append(describe(pid))
        pid = int((proc / "stat").read_text().rpartition(")")[2].split()[1])
    temporary = pathlib.Path(sys.argv[1] + ".new")
    temporary.write_text(json.dumps(found))
    temporary.rename(sys.argv[1])
    sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)


main()
