# SPDX-License-Identifier: Apache-2.0
"""What can't be done: one clear line in Slurm's words with what is wrong, Slurm's exit code, nothing submitted or left."""

import json
import re
import shlex
import time
import uuid

import pytest

UNREACHABLE = "Unable to contact slurm controller (connect failure)"
NOT_IN_A_JOB = (r"srun: error: not inside a job \(SLURM_JOB_ID is not set\), and there are no allocations without one here: "
                r"submit a script that calls srun with sbatch\n")


def unknown(tool, what):
    return rf'{tool}: {what}\nTry "{tool} --help" for more information\n'


# tool: [(words, exit code, all of its standard error, as a regular expression)]
BAD = {
    "sbatch": [
        ("--bogus --wrap true", 255, unknown("sbatch", "unrecognized option '--bogus'")),
        ("-Y --wrap true", 255, unknown("sbatch", "invalid option -- 'Y'")),
        ("--node=2 --wrap true", 255, r"sbatch: option '--node=2' is ambiguous; possibilities: .*\nTry .*\n"),
        ("--time", 255, unknown("sbatch", "option '--time' requires an argument")),
        ("-t abc --wrap true", 255, "sbatch: error: Invalid --time specification\n"),
        ("-t 1:2:3:4 --wrap true", 255, "sbatch: error: Invalid --time specification\n"),
        ("-n x --wrap true", 1, r'sbatch: error: Invalid numeric value "x" for --ntasks\.' "\n"),
        ("-c0 --wrap true", 1, r'sbatch: error: Invalid numeric value "0" for --cpus-per-task\.' "\n"),
        ("-N3-2 --wrap true", 255, "sbatch: error: Maximum node count 2 is less than minimum node count 3\n"),
        ("-N9 --wrap true", 1,
         "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"),
        ("-p nosuch --wrap true", 1, "sbatch: error: invalid partition specified: nosuch\n"
                                     "sbatch: error: Batch job submission failed: Invalid partition name specified\n"),
        ("--mem=1Q --wrap true", 255, "sbatch: error: Invalid --mem specification\n"),
        ("-a 3-1 --wrap true", 1, "sbatch: error: Batch job submission failed: Invalid job array specification\n"),
        ("--signal=NOSUCH --wrap true", 255, "sbatch: error: Invalid --signal specification\n"),
        ("nosuch.sh", 1, r"sbatch: error: Unable to open file nosuch\.sh\n"),
        ("/", 1, "sbatch: error: Unable to open file /\n"),
        ("empty.sh", 1, "sbatch: error: Batch script is empty!\n"),
        ("text.sh", 1, r"sbatch: error: This does not look like a batch script\.  The first\n(sbatch: error: .*\n){2}"),
        ("directive.sh", 255, unknown("sbatch", "unrecognized option '--bogus'")),
        ("quote.sh", 1, r'sbatch: fatal: quote\.sh: line 2: Unmatched `"` in \[ "x\]\n'),
        ("--wrap true s.sh", 1, "sbatch: error: Script arguments not permitted with --wrap option\n"),
    ],
    "srun": [  # outside a job
        ("--bogus true", 255, unknown("srun", "unrecognized option '--bogus'")),
        ("-t abc true", 255, "srun: error: Invalid --time specification\n"),
        ("", 1, r"srun: fatal: No command given to execute\.\n"),
        ("-n2 true", 1, NOT_IN_A_JOB),
        ("nosuch", 1, NOT_IN_A_JOB),
    ],
    "squeue": [
        ("--bogus", 1, unknown("squeue", "unrecognized option '--bogus'")),
        ("-j abc", 1, "squeue: error: Invalid job id: abc\n"),
        ("-j 999999", 1, "slurm_load_jobs error: Invalid job id specified\n"),
        ("-t bogus", 1, "squeue: error: Invalid job state specified: bogus\nsqueue: error: Valid job states include: .*\n"),
        ("extra", 1, "squeue: error: Unrecognized option: extra\n"),
        ("-i x", 1, "squeue: error: --iterate=x\n"),
        ("-S @", 1, "squeue: error: Invalid sort specification: @\n"),
        ("-h -u nosuch", 0, "squeue: error: Invalid user: nosuch\n\n"),
    ],
    "scancel": [
        ("", 1, "scancel: error: No job identification provided\n"),
        ("--bogus 1", 1, unknown("scancel", "unrecognized option '--bogus'")),
        ("abc", 1, "scancel: error: Invalid job id abc\n"),
        ("999999", 0, ""),
        ("-s TERM 999999", 1, "scancel: error: Kill job error on job id 999999: Invalid job id specified\n"),
        ("-s NOSUCH 999999", 1, "Unknown job signal: NOSUCH\n"),
        ("-t bogus", 1, "Invalid job state specified: bogus\nValid job states are PENDING, RUNNING, and SUSPENDED\n"),
    ],
    "scontrol": [
        ("bogus", 1, "invalid keyword: bogus\n"),
        ("--bogus", 1, unknown("scontrol", "unrecognized option '--bogus'")),
        ("show", 1, "too few arguments for keyword:show\n"),
        ("show bogus", 1, "invalid entity:bogus for keyword:show \n"),
        ("show job 999999", 1, "slurm_load_jobs error: Invalid job id specified\n"),
        ("hold", 1, "too few arguments for keyword:hold\n"),
        ("hold 999999", 1, "Invalid job id specified for job 999999\nslurm_suspend error: Invalid job id specified\n"),
        ("show hostnames 'n[3-1]'", 0, r"scontrol: error: _parse_single_range: Invalid range: `3-1'\n"
                                       r"Invalid hostlist: n\[3-1\]\n"),
    ],
}

SCRIPTS = {
    "s.sh": "#!/bin/sh\n", "empty.sh": "", "text.sh": "echo\n", "directive.sh": "#!/bin/sh\n#SBATCH --bogus\n",
    "quote.sh": '#!/bin/sh\n#SBATCH -J "x\n',
}

# In a job of two hosts with one task each: (words, exit code, standard error)
BAD_STEPS = [
    ("--bogus true", 255, unknown("srun", "unrecognized option '--bogus'")),
    ("-t abc true", 255, "srun: error: Invalid --time specification\n"),
    ("-n x true", 1, r'srun: error: Invalid numeric value "x" for --ntasks\.' "\n"),
    ("-N x true", 255, 'srun: error: "x" is not a valid node count\n'),
    ("-N3-2 true", 255, "srun: error: Maximum node count 2 is less than minimum node count 3\n"),
    ("-n99 true", 1, r"srun: error: Unable to create step for job \d+: More processors requested than permitted\n"),
    ("-w c9 true", 1, r"srun: error: Unable to create step for job \d+: Requested node configuration is not available\n"),
    ("-x c1,c2 true", 1, r"srun: error: Hostlist is empty!  Can't run job\.\n"),
    ("-o /nosuch/x true", 1, "srun: error: Could not open stdout file: No such file or directory\n"),
    ("-i /nosuch true", 1, "srun: error: Could not open stdin file: No such file or directory\n"),
    ("", 1, r"srun: fatal: No command given to execute\.\n"),
    ("-n1 -N1 nosuch", 2, r"slurmstepd: error: execve\(\): nosuch: No such file or directory\n"
                          r"srun: error: c1: task 0: Exited with exit code 2\n"),
    ("-n1 -N1 /etc/passwd", 13, r"slurmstepd: error: execve\(\): /etc/passwd: Permission denied\n"
                                r"srun: error: c1: task 0: Exited with exit code 13\n"),
]

REPLAY = """
import json, os, subprocess
done = []
for words in json.load(open("words.json")):
    p = subprocess.run("exec srun " + words, shell=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
    done.append([p.returncode, p.stdout, p.stderr])
json.dump(done, open("done.json", "w"))
"""


CACHES = {"engine", "pes", "complexes", "swept"}  # what sbatch knows of the cell, whatever becomes of the job


class Traces:
    """What a refused command must not change: jobs, spool folder, the folder it ran in, records, processes of the user."""

    def __init__(self, cluster, *folders):
        self.cluster, self.folders = cluster, folders
        self.before = None
        cluster.wait_until(self.is_quiet, 60, "something of other tests still changes")

    def is_quiet(self):
        """Two looks are alike: what jobs of other tests leave behind them has gone."""
        earlier, self.before = self.before, self.look()
        time.sleep(0.5)
        return earlier == self.before

    def look(self):
        home = self.cluster.outside(self.cluster.home())
        places = [home / ".slurm-on-ocs", self.cluster.state / "root/default/common/slurm-on-ocs",
                  *(self.cluster.outside(folder) for folder in self.folders)]
        files = sorted(str(path) for place in places if place.exists() for path in place.rglob("*") if path.name not in CACHES)
        jobs = self.cluster.on("head", ["qstat", "-u", "*"], user="root").stdout
        processes = [process.args for process in self.cluster.ps("head") if process.user == "alice"]
        return files, jobs, processes

    def are_unchanged(self):
        after = self.look()
        assert after == self.before


@pytest.fixture
def traces(cluster, workdir):
    cluster.on("head", ["sbatch", "--test-only", "--wrap", "true"], cwd=workdir)  # the caches are there
    for name, text in SCRIPTS.items():
        cluster.write(f"{workdir}/{name}", text)
    # those of other tests
    cluster.wait_until(lambda: not cluster.on("head", ["qstat", "-u", "*", "-s", "r"], user="root").stdout, 60, "jobs run")
    return Traces(cluster, workdir)


@pytest.mark.parametrize("tool", BAD)
def test_bad_input(cluster, workdir, traces, tool):
    wrong = []
    for words, code, stderr in BAD[tool]:
        result = cluster.on("head", [tool, *shlex.split(words)], cwd=workdir)
        if result.returncode != code or not re.fullmatch(stderr, result.stderr):
            wrong.append(f"{tool} {words}: {result.returncode} {result.stderr!r}, want {code} {stderr!r}")
        if tool in ("sbatch", "srun", "scancel") and result.stdout:
            wrong.append(f"{tool} {words}: {result.stdout!r} on standard output")
    assert not wrong, "\n".join(wrong)
    traces.are_unchanged()


def test_bad_input_for_steps(cluster, workdir):
    """What is refused holds nothing of the job: the step behind it gets all."""
    steps = [words for words, _, _ in BAD_STEPS] + ["bash -c 'echo $SLURM_STEP_ID'"]
    cluster.write(f"{workdir}/words.json", json.dumps(steps))
    cluster.write(f"{workdir}/replay.py", REPLAY)
    job = cluster.sbatch("#!/bin/bash\nexec python3 replay.py\n", ["-N2", "-n2"], cwd=workdir)
    cluster.wait_job(job)
    done = json.loads(cluster.read(f"{workdir}/done.json"))
    wrong = [f"srun {words}: {result}" for (words, code, stderr), result in zip(BAD_STEPS, done)
             if result[:2] != [code, ""] or not re.fullmatch(stderr, result[2])]
    assert not wrong, "\n".join(wrong)
    # those that were granted before something was found to be wrong, as under Slurm
    started = sum("execve" in stderr or "Could not open" in stderr for _, _, stderr in BAD_STEPS)
    assert done[-1] == [0, f"{started}\n" * 2, ""]


# --- a spool folder that can't be used ---

def refuse_spool(cluster, workdir, place, text):
    """One line that names the folder and the reason; nothing is there afterwards."""
    conf = f"/var/tmp/bad-{uuid.uuid4().hex[:8]}.conf"
    cluster.write(conf, f'spool_dir = "{place}";\n')
    traces = Traces(cluster, workdir)
    result = cluster.on("head", ["sbatch", "--wrap", "true"], cwd=workdir, env={"SLURM_ON_OCS_CONF": conf})
    assert (result.returncode, result.stdout) == (1, "")
    assert re.fullmatch(f"sbatch: error: [^\n]*{place}[^\n]*{text}[^\n]*\n", result.stderr), result.stderr
    traces.are_unchanged()


@pytest.mark.parametrize("make, user, text", [
    ("mkdir -m 500 $P", "alice", "Permission denied"),
    ("mkdir -m 777 $P", "bob", "owned by another user"),
    ("mkdir -m 700 $P", "bob", "(Permission denied|owned by another user)"),
    ("mkdir $P; chmod 770 $P", "alice", "writable by others .* chmod go-w it"),
    ("touch $P", "alice", "Not a directory"),
    ("ln -s /tmp $P", "alice", "(Not a directory|Too many levels of symbolic links|owned by another user)"),
    ("mkdir $P; mount -t tmpfs -o ro,uid=$(id -u alice),mode=700 tmpfs $P", "root", "Read-only file system"),
    ("mkdir $P; mount -t tmpfs -o nr_inodes=1,uid=$(id -u alice),mode=700 tmpfs $P", "root", "No space left on device"),
])
def test_a_spool_folder_that_cannot_be_used(cluster, workdir, make, user, text):
    place = f"/tmp/bad-{uuid.uuid4().hex[:8]}"
    cluster.on("head", f"P={place}; {make}", user=user, check=True)
    try:
        refuse_spool(cluster, workdir, place, text)
    finally:
        cluster.on("head", f"[ -L {place} ] || ! mountpoint -q {place} || umount {place}; rm -rf {place}", user="root", check=True)


def test_a_spool_folder_below_a_folder_of_others(cluster, workdir):
    refuse_spool(cluster, workdir, "/root/spool", "Permission denied")
    refuse_spool(cluster, workdir, "/etc/passwd/spool", "Not a directory")


# --- no engine ---

def every_tool(cluster, workdir, env=None):
    return {words: cluster.on("head", words.split(), cwd=workdir, env=env)
            for words in ("sbatch --wrap=true", "sbatch -N2 s.sh", "squeue", "squeue -j 1", "scancel 1", "scancel -s TERM 1",
                          "scontrol show job 1", "scontrol hold 1", "scontrol release 1")}


def check_no_engine(results, cause):
    """Exit 1, nothing on standard output, Slurm's words; the cause in front where we know more."""
    wrong = []
    for words, result in results.items():
        lines = result.stderr.splitlines()
        tool = words.split()[0]
        if result.returncode != 1 or result.stdout:
            wrong.append(f"{words}: exit code {result.returncode}, {result.stdout!r}")
        if tool == "sbatch":
            good = len(lines) == 1 and re.fullmatch(f"sbatch: error: .*({cause}).*", lines[0])
        else:
            good = 1 < len(lines) <= 3 and UNREACHABLE in lines[-1] and re.search(cause, result.stderr)
        if not good:
            wrong.append(f"{words}: {result.stderr!r}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("env, cause", [
    ({"SGE_ROOT": "/nosuch"}, "/nosuch"),
    ({"SGE_CELL": "nosuch"}, "nosuch"),
    ({"SGE_QMASTER_PORT": "1"}, UNREACHABLE.replace("(", r"\(").replace(")", r"\)")),
])
def test_an_engine_that_is_not_there(cluster, workdir, traces, env, cause):
    check_no_engine(every_tool(cluster, workdir, env), cause)
    traces.are_unchanged()


def test_a_qmaster_that_is_dead(cluster, workdir, traces):
    cluster.kill_daemon("head")
    try:
        results = every_tool(cluster, workdir)
        names = cluster.on("head", ["scontrol", "show", "hostnames", "n[1-2]"])
    finally:
        cluster.start_daemon("head")
    check_no_engine(results, UNREACHABLE.replace("(", r"\(").replace(")", r"\)"))
    assert (names.returncode, names.stdout) == (0, "n1\nn2\n"), "this needs no engine"
    traces.are_unchanged()


def test_a_configuration_that_is_broken(cluster, workdir, traces):
    conf = f"/var/tmp/bad-{uuid.uuid4().hex[:8]}.conf"
    cluster.write(conf, "port_first = 61000;\nport_fist = 1;\n")
    for tool in ("sbatch --wrap=true", "squeue", "scancel 1", "scontrol show job 1"):
        result = cluster.on("head", tool.split(), cwd=workdir, env={"SLURM_ON_OCS_CONF": conf})
        assert (result.returncode, result.stdout) == (1, "")
        assert re.fullmatch(rf'{tool.split()[0]}: fatal: {conf}:2: [^\n]*port_fist[^\n]*port_first[^\n]*\n', result.stderr), result
    traces.are_unchanged()
