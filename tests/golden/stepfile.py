# SPDX-License-Identifier: Apache-2.0
"""srun with a shim-launch that only tells what it was given.

    srun = Srun(tmp_path)
    done = srun(["-n2", "true"], {"SLURM_JOB_ID": "7"})
    done.launch["spec"]["ntasks"]          # None where srun ended by itself
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess

BUILD = pathlib.Path(os.environ.get("BUILD", "build/release")).absolute()
UNSET = 0xFFFFFFFF

# Says it all in one JSON file: words, environment, the descriptor's bytes, flags and seals.
LAUNCHER = """#!/usr/bin/python3
import fcntl, json, os, sys
fd = int(sys.argv[2])
data = os.read(fd, 1 << 24)
told = {"argv": sys.argv[1:], "env": dict(os.environ), "seals": fcntl.fcntl(fd, fcntl.F_GET_SEALS), "cwd": os.getcwd(),
        "open": sorted(int(f) for f in os.listdir("/proc/self/fd")), "pid": os.getpid(), "data": data.hex()}
try:
    os.write(fd, b"x")
except OSError:
    told["writable"] = False
else:
    told["writable"] = True
with open(os.environ["TEST_TOLD"], "w") as out:
    json.dump(told, out)
sys.exit(42)
"""

# in the order of ocs/stepspec.c behind argv and env; "s" is a string
FIELDS = [("cwd", "s"), ("chdir", "s"), ("name", "s"), ("min_nodes", "I"), ("max_nodes", "I"), ("ntasks", "I"),
          ("cpus_per_task", "I"), ("ntasks_per_node", "I"), ("relative", "I"), ("distribution", "B"), ("pack", "B"),
          ("plane_size", "I"), ("nodelist", "s"), ("exclude", "s"), ("overcommit", "B"), ("exact", "B"), ("overlap", "B"),
          ("immediate", "B"), ("std_in", "s"), ("std_out", "s"), ("std_err", "s"), ("open_mode", "B"), ("label", "B"),
          ("unbuffered", "B"), ("kill_on_bad_exit", "b"), ("wait", "I"), ("no_kill", "B"), ("disable_status", "B"),
          ("verbosity", "b"), ("time_limit", "q"), ("propagate_umask", "B"), ("umask", "I")]
DISTRIBUTIONS = [None, "block", "cyclic", "plane", "arbitrary"]
FOREVER = 2**63 - 1


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        size = struct.calcsize(form)
        value, = struct.unpack(">" + form, self.data[self.at:self.at + size])
        self.at += size
        return value

    def bytes(self):
        size = self.number("I")
        if size == UNSET:
            return None
        self.at += size
        return self.data[self.at - size:self.at]

    def string(self):
        value = self.bytes()
        return None if value is None else os.fsdecode(value)


def decode(data):
    """A struct stepspec; numbers that weren't given are None."""
    r = Reader(data)
    assert r.string() == "slurm-on-ocs step"
    assert r.number("H") == 1
    spec = {"argv": [r.string() for _ in range(r.number("I"))]}
    spec["env"] = [os.fsdecode(v) for v in r.bytes().split(b"\0")[:-1]]
    for name, form in FIELDS:
        value = r.string() if form == "s" else r.number(form)
        spec[name] = None if form == "I" and value == UNSET else value
    assert r.at == len(data)
    spec["distribution"] = DISTRIBUTIONS[spec["distribution"]]
    return spec


class Srun:
    def __init__(self, folder, launcher=LAUNCHER):
        self.folder = folder / "libexec"
        self.folder.mkdir()
        self.work = folder / "work"
        self.work.mkdir()
        shutil.copy(BUILD / "translate", self.folder / "translate")
        (self.folder / "srun").symlink_to("translate")
        if launcher:
            (self.folder / "shim-launch").write_text(launcher, encoding="utf-8")
            (self.folder / "shim-launch").chmod(0o755)
        self.told = folder / "told.json"

    def __call__(self, words, env, **more):
        """argv[0] is "srun". The result of subprocess.run, with .launch: what shim-launch was given, or None."""
        self.told.unlink(missing_ok=True)
        env = {name: value for name, value in env.items() if value is not None}
        done = subprocess.run(["srun", *words], executable=self.folder / "srun", stdin=subprocess.DEVNULL,
                              env={**env, "TEST_TOLD": str(self.told)}, cwd=self.work, capture_output=True, text=True,
                              encoding="utf-8", timeout=30, check=False, **more)
        done.launch = None
        if self.told.exists():
            done.launch = json.loads(self.told.read_text(encoding="utf-8"))
            done.launch["spec"] = decode(bytes.fromhex(done.launch["data"]))
        return done
