# SPDX-License-Identifier: Apache-2.0
"""sbatch on the real engine: where jobs land, what they find, what others can see, what is refused."""

import re

import pytest

SPOOL = ".slurm-on-ocs"


def submit(cluster, workdir, *argv, host="head", stdin=None, env=None, user="alice"):
    return cluster.on(host, ["sbatch", *argv], cwd=workdir, stdin=stdin, env=env, user=user)


def job_of(result):
    match = re.fullmatch(r"Submitted batch job (\d+)\n", result.stdout)
    assert match and result.returncode == 0, (result.stdout, result.stderr)
    return int(match[1])


def run(cluster, workdir, *argv, **kwargs):
    """Submits, waits; the job's id."""
    job = job_of(submit(cluster, workdir, *argv, **kwargs))
    cluster.wait_job(job)
    return job


def output(cluster, workdir, job):
    return cluster.read(f"{workdir}/slurm-{job}.out")


def hosts_and_slots(text):
    """{host: slots} out of a job's PE_HOSTFILE."""
    return {line.split()[0]: int(line.split()[1]) for line in text.splitlines() if "all.q@" in line}


# --- the script ---

def test_script_arguments_input_and_name(cluster, workdir):
    cluster.write(f"{workdir}/s.sh", '#!/bin/bash\nprintf "[%s]" "$@"; echo; readlink /proc/self/fd/0; '
                                     'echo "${0##*/} $SLURM_JOB_NAME $ENVIRONMENT"; pwd\n')
    job = run(cluster, workdir, "s.sh", "a b", "", "*", "--x=1")
    assert output(cluster, workdir, job) == (
        f"[a b][][*][--x=1]\n/dev/null\nslurm_script s.sh BATCH\n{workdir}\n")


def test_script_on_standard_input(cluster, workdir):
    job = run(cluster, workdir, stdin="#!/bin/sh\n#SBATCH -J piped\necho $SLURM_JOB_NAME $#\n")
    assert output(cluster, workdir, job) == "piped 0\n"


def test_script_that_is_gone_when_the_job_starts(cluster, workdir):
    """Clients delete or rename it as soon as sbatch has returned."""
    cluster.write(f"{workdir}/s.sh", "#!/bin/sh\necho ran\n")
    job = job_of(submit(cluster, workdir, "-H", "s.sh"))
    cluster.write(f"{workdir}/s.sh", "#!/bin/sh\necho replaced\n")
    cluster.on("head", ["qrls", job], check=True)
    cluster.wait_job(job)
    assert output(cluster, workdir, job) == "ran\n"


def test_output_error_input(cluster, workdir):
    cluster.write(f"{workdir}/in", "from a file\n")
    cluster.write(f"{workdir}/o.txt", "before\n")
    run(cluster, workdir, "-o", "o.txt", "-e", "e-%j.txt", "-i", "in", "--open-mode=append", "--wrap",
        "cat; echo err >&2")
    assert cluster.read(f"{workdir}/o.txt") == "before\nfrom a file\n"
    (error,) = cluster.outside(workdir).glob("e-*.txt")
    assert error.read_text() == "err\n"


def test_working_folder(cluster, workdir):
    cluster.mkdir(f"{workdir}/below")
    job = run(cluster, workdir, "-D", "below", "--wrap", "pwd")
    assert cluster.read(f"{workdir}/below/slurm-{job}.out") == f"{workdir}/below\n"


def test_working_folder_that_is_missing(cluster, workdir):
    run(cluster, workdir, "-D", "/nosuch", "-o", f"{workdir}/o.txt", "--wrap", "pwd")
    text = cluster.read(f"{workdir}/o.txt")
    assert text.endswith("\n/tmp\n") and "going to /tmp instead" in text


# --- geometry ---

@pytest.mark.parametrize("argv, slots", [
    (["-N3", "--ntasks-per-node=2"], [2, 2, 2]),
    (["-N2", "-c3"], [3, 3]),
    (["-N2", "-n3"], [2, 2]),
    (["-c4"], [4]),
    (["-n6"], [2, 4]),
    (["-n3", "-c2"], [4, 4]),
    (["-N1-3", "-c2"], [2, 2, 2]),
    (["-N3", "-n9", "-O"], [1, 1, 1]),
])
def test_slots_per_host(cluster, workdir, argv, slots):
    job = run(cluster, workdir, *argv, "--wrap", "cat $PE_HOSTFILE")
    found = hosts_and_slots(output(cluster, workdir, job))
    assert sorted(found.values()) == slots


def test_one_slot_is_no_parallel_job(cluster, workdir):
    job = run(cluster, workdir, "--wrap", "echo ${PE-none}")
    assert output(cluster, workdir, job) == "none\n"


def test_impossible_geometry(cluster, workdir):
    result = submit(cluster, workdir, "-N2", "--ntasks-per-node=5", "--wrap", "true")
    assert (result.returncode, result.stdout) == (1, "")
    if "slurm-on-ocs.5" not in result.stderr:  # the installer's PEs end where the hosts' slots end
        assert result.stderr == (
            "sbatch: error: CPU count per node can not be satisfied\n"
            "sbatch: error: Batch job submission failed: Requested node configuration is not available\n")
    result = submit(cluster, workdir, "-N9", "--wrap", "true")
    assert (result.returncode, result.stdout, result.stderr) == (
        1, "", "sbatch: error: Batch job submission failed: Requested node configuration is not available\n")


# --- arrays ---

def test_array_of_one_range(cluster, workdir):
    job = run(cluster, workdir, "-a", "0-6:2%2", "-o", "%A-%a.txt", "--wrap",
              "echo $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_STEP $SLURM_ARRAY_JOB_ID")
    for index in (0, 2, 4, 6):
        assert cluster.read(f"{workdir}/{job}-{index}.txt") == f"{index} 4 2 {job}\n"
    assert len(list(cluster.outside(workdir).glob("*.txt"))) == 4


# --- what is asked of the engine ---

def test_partition_is_a_queue(cluster, workdir):
    job = run(cluster, workdir, "-p", "plain.q", "--wrap", "echo $QUEUE $SLURM_JOB_PARTITION")
    assert output(cluster, workdir, job) == "plain.q plain.q\n"


def test_unknown_partition(cluster, workdir):
    result = submit(cluster, workdir, "-p", "nosuch", "--wrap", "true")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == ("sbatch: error: invalid partition specified: nosuch\n"
                             "sbatch: error: Batch job submission failed: Invalid partition name specified\n")


def test_hold_and_test_only(cluster, workdir):
    job = job_of(submit(cluster, workdir, "--hold", "--wrap", "true"))
    assert cluster.job_state(job) == "hqw"
    cluster.on("head", ["qdel", job], check=True)
    before = cluster.on("head", ["qstat"]).stdout
    result = submit(cluster, workdir, "--test-only", "-N3", "--wrap", "true")
    assert (result.returncode, result.stdout) == (0, "")
    assert cluster.on("head", ["qstat"]).stdout == before


def test_refused_jobs_leave_nothing(cluster, workdir):
    spools = f"{cluster.home()}/{SPOOL}/{cluster.name}"
    run(cluster, workdir, "--wrap", "true")  # so that the folder is there
    before = sorted(path.name for path in cluster.outside(spools).glob("*-*"))
    for argv in (["-p", "nosuch"], ["-N9"], ["--mem=900T"], ["--gres=nosuch"], ["-n", "x"]):
        assert submit(cluster, workdir, *argv, "--wrap", "true").returncode == 1
    assert sorted(path.name for path in cluster.outside(spools).glob("*-*")) == before


def test_trace_can_be_pasted(cluster, workdir):
    result = submit(cluster, workdir, "-H", "--comment=x", "--wrap", "echo pasted", env={"SLURM_ON_OCS_TRACE": "1"})
    (line,) = [line[2:] for line in result.stderr.splitlines() if line.startswith("+ qsub -terse")]
    again = cluster.on("head", line, cwd=workdir, check=True)
    assert int(again.stdout) == job_of(result) + 1
    cluster.on("head", ["qdel", again.stdout.strip(), str(job_of(result))], check=True)


# --- what others see ---

SECRET = "hunter2-4711"


def test_another_user_finds_the_environment_nowhere(cluster, workdir):
    """Not with a site's own -V either: in the engine's record, the spool folder, the execution host."""
    defaults = f"{cluster.state}/root/default/common/sge_request"
    cluster.on("head", f"touch {defaults}; cp {defaults} {defaults}.kept; echo -V >>{defaults}", user="root", check=True)
    try:
        job = job_of(submit(cluster, workdir, "--wrap", "echo got $TOKEN; sleep 4", env={"TOKEN": SECRET}))
        cluster.wait_running(job)
        look = (f"qstat -j {job}; qstat -xml -j {job}; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ; "
                f"cat ~alice/{SPOOL}/*/*/*; "
                f"find {cluster.state} -path '*{job}.1*' -name environment -exec cat {{}} +")
        seen = "".join(cluster.on(host, look, user="bob").stdout for host in cluster.hosts)
        assert re.search(rf"^job_number: +{job}$", seen, re.M)
        assert SECRET not in seen
    finally:
        cluster.on("head", f"mv {defaults}.kept {defaults}", user="root", check=True)
    cluster.wait_job(job)
    assert output(cluster, workdir, job) == f"got {SECRET}\n"


def test_hostile_values_arrive(cluster, workdir):
    values = {"NL": "a\nb", "COMMA": "a,b", "QUOTES": "'\"`$x\\", "LONG": "x" * 20000, "EMPTY": ""}
    cluster.write(f"{workdir}/s.py", "#!/usr/bin/python3\nimport os\nprint(repr([os.environ.get(k) for k in "
                                     "('NL', 'COMMA', 'QUOTES', 'LONG', 'EMPTY')]))\n")
    job = run(cluster, workdir, "s.py", env=values)
    assert output(cluster, workdir, job) == repr(list(values.values())) + "\n"


def test_export_none(cluster, workdir):
    job = run(cluster, workdir, "--export=NONE", "--wrap", "echo ${MINE-none} $SLURM_EXPORT_ENV; command -v ls",
              env={"MINE": "1"})
    assert output(cluster, workdir, job).splitlines()[0] == "none NONE"
    assert output(cluster, workdir, job).splitlines()[1].endswith("/ls")


def test_the_users_own_defaults_do_no_harm(cluster, workdir):
    """A ~/.sge_request of someone who used qsub before."""
    request = f"{cluster.home()}/.sge_request"
    cluster.write(request, "-cwd -j n -b y -S /bin/csh -o /tmp -N other\n")
    try:
        job = run(cluster, workdir, "-J", "mine", "--wrap", "echo $SLURM_JOB_NAME; pwd")
    finally:
        cluster.outside(request).unlink()
    assert output(cluster, workdir, job) == f"mine\n{workdir}\n"


def test_no_qmaster(cluster, workdir):
    cluster.kill_daemon("head")
    try:
        result = submit(cluster, workdir, "--wrap", "true")
    finally:
        cluster.start_daemon("head")
    assert (result.returncode, result.stdout, result.stderr) == (
        1, "", "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n")
