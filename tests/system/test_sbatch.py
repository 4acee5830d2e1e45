# SPDX-License-Identifier: Apache-2.0
"""sbatch as a program, against fake clients of the engine: what it leaves, in which order, and what it says."""

import os
import pathlib
import shlex
import signal
import stat
import subprocess
import time

import pytest

from tests.fake.engine import BUILD, FAKE, INFINITE, UNSET, FakeEngine, context, read_job_file

SCRIPT = "#!/bin/sh\n#SBATCH -J name\necho hello\n"
HOSTILE = {"NL": "a\nb", "QUOTES": "'\"`$x\\", "EQ": "a=b=c", "EMPTY": "", "COMMA": "a,b", "LONG": "x" * 30000,
           "BASH_FUNC_f%%": "() {  echo hi\n}", "UTF8": "jöb"}
FILES = {"job", "script", "args", "env", "options", "stub"}


@pytest.fixture
def engine(tmp_path):
    return FakeEngine(tmp_path)


def submit(engine, *argv, script=SCRIPT, **kwargs):
    (engine.cwd / "s.sh").write_text(script)
    return engine.run(["sbatch", *argv, "s.sh"], **kwargs)


def one_line(result):
    """The one error line, and nothing else anywhere."""
    assert result.rc == 1 and result.stdout == "" and result.spools == []
    assert result.stderr.startswith("sbatch: error: ") and result.stderr.count("\n") == 1, result.stderr
    return result.stderr.removeprefix("sbatch: error: ").rstrip("\n")


def nothing_left(engine):
    return not engine.spool.exists() or not list(engine.spool.glob("*-*-*-*-*"))


# --- what a job finds ---

def test_the_spool_folder_is_whole_and_private(engine):
    (engine.cwd / "s.sh").write_text(SCRIPT)
    result = engine.run(["sbatch", "-n2", "s.sh", "a b", "", "c\nd"])
    assert (result.rc, result.stdout, result.stderr) == (0, "Submitted batch job 17\n", "")
    (spool,) = result.spools
    assert {path.name for path in spool.iterdir()} - {"17.%s.jsonl" % os.uname().nodename} == FILES
    for folder in (engine.home / ".slurm-on-ocs", engine.spool, spool):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in FILES:
        assert stat.S_IMODE((spool / name).stat().st_mode) & 0o077 == 0, name
    assert (spool / "script").read_text() == SCRIPT
    assert (spool / "args").read_bytes() == b"a b\0\0c\nd\0"
    assert os.readlink(engine.spool / "by-id" / "17") == f"../{spool.name}"
    job = read_job_file(spool / "job")
    assert job["command"] == f"{engine.cwd}/s.sh a b  c\nd"
    assert job["work_dir"] == job["submit_dir"] == str(engine.cwd)
    assert context(spool)["spool"] == spool.name


def test_the_environment_arrives_byte_for_byte(engine):
    result = submit(engine, env=HOSTILE)
    got = dict(item.split("=", 1) for item in (result.spools[0] / "env").read_text().split("\0")[:-1])
    assert {name: got.get(name) for name in HOSTILE} == HOSTILE


def exported(result):
    return dict(item.split("=", 1) for item in (result.spools[0] / "env").read_text().split("\0")[:-1])


def test_export_all_is_the_environment_and_nothing_else(engine):
    assert exported(submit(engine, env={"MINE": "1"})).keys() == {*engine.env, "MINE"}


def test_export_none_takes_slurms_own_along(engine):
    """The rest comes from the login shell on the job's host (tests/system/test_timing.py)."""
    result = submit(engine, "--export=NONE", env={"MINE": "1", "SLURM_MINE": "2"})
    assert exported(result) == {"SLURM_MINE": "2"} | {
        name: value for name, value in engine.env.items() if name.startswith("SLURM_")}
    job = read_job_file(result.spools[0] / "job")
    assert (job["export_env"], job["get_user_env"]) == ("NONE", 1)


def test_export_list_and_login_environment(engine):
    result = submit(engine, "--export=PATH,X=5", env={"PATH": engine.env["PATH"] + ":/mine"})
    got = exported(result)
    assert got["PATH"].endswith(":/mine") and got["X"] == "5" and "HOME" not in got
    result = submit(engine, "--get-user-env", env={"MINE": "1"})
    assert exported(result)["MINE"] == "1" and read_job_file(result.spools[0] / "job")["get_user_env"] == 1


def test_the_engine_sees_nothing_of_the_environment(engine):
    """A site's -V in a defaults file takes what qsub itself has: that must be nothing of the user's."""
    result = submit(engine, env={"SECRET": "hunter2", "LD_LIBRARY_PATH": "/x", **HOSTILE})
    seen = (engine.log / "qsub.1.env").read_text().split("\0")[:-1]
    names = {item.split("=", 1)[0] for item in seen}
    assert {name for name in names if not name.startswith("SGE_")} <= {
        "PATH", "HOME", "LOGNAME", "USER", "SHELL", "TZ", "PWD", "SHLVL", "OLDPWD", "_"}
    assert "hunter2" not in "".join(seen) + "".join(result.calls[0])


def test_comment_and_context_are_not_on_qsubs_command_line(engine):
    result = submit(engine, "--comment=hidden words", "-J", "name")
    assert "hidden" not in " ".join(result.calls[0])
    assert "soo=" not in " ".join(result.calls[0])
    assert context(result.spools[0])["comment"] == "hidden words"


def test_the_spool_folder_is_whole_before_qsub_runs(engine, tmp_path):
    """The fake's first act: list the folder of the stub that it gets."""
    clients = tmp_path / "clients"
    clients.mkdir()
    (clients / "qsub").write_text(
        f'#!/bin/sh\nfor stub; do :; done\ncase $1 in -help) ;; *) ls "${{stub%/*}}" >{tmp_path}/seen;; esac\n'
        f'exec {FAKE}/qsub "$@"\n')
    (clients / "qsub").chmod(0o755)
    result = submit(engine, env={"SGE_BINARY_PATH": str(clients)})
    assert result.rc == 0, result.stderr
    assert set((tmp_path / "seen").read_text().split()) == FILES


ROUNDS = 80


def assert_whole(engine):
    """Every job that the engine took has its folder, with all that the supervisor wants."""
    calls = engine.calls()
    for words in calls:
        spool = pathlib.Path(words[-1]).parent
        assert FILES <= {path.name for path in spool.iterdir()}
        read_job_file(spool / "job")
    return len(calls)


def test_killed_at_any_moment_a_job_is_whole_or_there_is_none(engine):
    (engine.cwd / "s.sh").write_text(SCRIPT)
    started = time.monotonic()
    engine.run(["sbatch", "s.sh"])
    whole_run = time.monotonic() - started
    killed = 0
    for number in range(ROUNDS):
        child = subprocess.Popen(["sbatch", "s.sh"], executable=engine.link, env=engine.env, cwd=engine.cwd,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole_run * number / ROUNDS)
        child.kill()
        killed += child.wait() == -signal.SIGKILL
    time.sleep(0.3)  # a qsub that outlived its sbatch
    assert killed > ROUNDS / 8, "the test killed hardly any"
    assert assert_whole(engine), "the test killed every one"


def test_killed_while_qsub_runs(engine, tmp_path):
    clients = tmp_path / "clients"
    clients.mkdir()
    (clients / "qsub").write_text(f'#!/bin/sh\n[ "$1" = -help ] || kill -9 $PPID\nexec {FAKE}/qsub "$@"\n')
    (clients / "qsub").chmod(0o755)
    result = submit(engine, env={"SGE_BINARY_PATH": str(clients)})
    assert result.rc == -signal.SIGKILL
    time.sleep(0.2)
    assert assert_whole(engine) == 1


# --- refusals: one line, exit 1, nothing left ---

def test_the_engines_refusal_is_passed_on(engine):
    (engine.log / "refuse").write_text("Unable to run job: job rejected: only 5 jobs are allowed per user.\nExiting.\n")
    text = one_line(submit(engine))
    assert text == "Batch job submission failed: job rejected: only 5 jobs are allowed per user"


def test_unknown_partitions_have_slurms_words(engine):
    conf = engine.folder / "slurm-on-ocs.conf"
    conf.write_text('cluster_name = "lab";\npartitions = ( { name = "long"; queue = "nosuch"; } );\n')
    result = submit(engine, "-p", "all.q,long")
    assert (result.rc, result.spools) == (1, [])
    assert result.stderr == ("sbatch: error: invalid partition specified: long\n"
                             "sbatch: error: Batch job submission failed: Invalid partition name specified\n")


@pytest.mark.parametrize("name", ["*", "all.q@c1", "a|b", "!x", "a b", ",", ""])
def test_a_partition_is_no_pattern(engine, name):
    result = submit(engine, f"--partition={name}")
    assert (result.rc, result.calls, result.spools) == (1, [], [])
    assert "Invalid partition name specified" in result.stderr


def test_unreachable_qmaster(engine):
    (engine.log / "refuse").write_text(
        "error: commlib error: got select error (Connection refused)\n"
        'Unable to run job: unable to send message to qmaster using port 6444 on host "head": got send error.\n')
    assert one_line(submit(engine)) == (
        "Batch job submission failed: Unable to contact slurm controller (connect failure)")


def test_no_engine(engine):
    text = one_line(submit(engine, env={"SGE_BINARY_PATH": "/nonexistent", "PATH": "/nonexistent",
                                        "SGE_ROOT": "/nonexistent"}))
    if os.path.exists("/usr/lib/gridengine/qsub"):
        assert text.startswith("Batch job submission failed: "), text  # Debian's own client says it
    else:
        assert text == "Batch job submission failed: qsub: not found; set SGE_ROOT to the Grid Engine installation"


def test_spool_folder_that_cannot_be_made(engine):
    (engine.home / ".slurm-on-ocs").write_text("a file")
    text = one_line(submit(engine))
    assert text.startswith("Batch job submission failed: ") and ".slurm-on-ocs" in text


def test_spool_folder_that_others_may_write_in(engine):
    (engine.home / ".slurm-on-ocs").mkdir()
    (engine.home / ".slurm-on-ocs").chmod(0o777)
    text = one_line(submit(engine))
    assert "writable by others" in text


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_full_disk(engine, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    (engine.cwd / "s.sh").write_text(SCRIPT + "#" * 100000 + "\n")
    command = (f"mount -t tmpfs -o size=64k,mode=0755 none {small} && mkdir -m 700 {small}/soo && "
               f"cd {engine.cwd} && {{ {engine.link} s.sh; echo rc=$?; find {small} -name job; }}")
    conf = engine.folder / "slurm-on-ocs.conf"
    conf.write_text(f'cluster_name = "lab";\nspool_dir = "{small}/soo";\n')
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], env=engine.env, capture_output=True, text=True,
                          timeout=20, check=False)
    assert done.stdout == "rc=1\n"
    assert done.stderr.startswith("sbatch: error: Batch job submission failed: ")
    assert done.stderr.endswith("No space left on device\n") and done.stderr.count("\n") == 1
    assert engine.calls() == []


def test_missing_pe_names_it_and_the_remedy(engine):
    (engine.log / "pes").write_text("make $round_robin TRUE\nloose 2 FALSE\n")
    text = one_line(submit(engine, "-N2", "--ntasks-per-node=2"))
    assert "slurm-on-ocs.2" in text and text.endswith("slurm-on-ocs install")


def test_impossible_geometry_has_slurms_words(engine):
    (engine.log / "verify").touch()
    result = submit(engine, "--ntasks-per-node=16")
    assert (result.rc, result.spools) == (1, [])
    assert result.stderr == (
        "sbatch: error: CPU count per node can not be satisfied\n"
        "sbatch: error: Batch job submission failed: Requested node configuration is not available\n")


@pytest.mark.parametrize("argv", [["-S", "2"], ["-B", "2"], ["--gpu-bind=none"], ["--ntasks-per-gpu=2"]])
def test_refused_options_submit_nothing(engine, argv):
    text = one_line(submit(engine, *argv))
    assert text.startswith(argv[0].split("=")[0] + ": ")
    assert nothing_left(engine) and engine.calls() == []


def test_refused_by_variable_or_directive_too(engine):
    assert one_line(submit(engine, env={"SBATCH_GPU_BIND": "none"})).startswith("SBATCH_GPU_BIND (--gpu-bind): ")
    assert one_line(submit(engine, script="#!/bin/sh\n#SBATCH --core-spec=5\n")).startswith("--core-spec: ")


def test_a_job_waits_where_others_have_all_hosts_for_themselves(engine):
    """-w e refuses such jobs, since the engine's verification counts exclusive hosts as gone for ever."""
    (engine.log / "in_use").touch()
    result = submit(engine, "-c2", "-t", "10")
    assert (result.rc, result.stdout, result.stderr) == (0, "Submitted batch job 17\n", "")
    words = result.calls[-1]
    assert words[words.index("-w") + 1] == "n" and "h_rt=660" in words
    assert len(result.spools) == 1
    result = submit(engine, "--test-only")
    assert result.rc == 0 and result.stderr.startswith("sbatch: Job 0 to start at N/A using 1 processors")
    (engine.log / "in_use").unlink()
    (engine.log / "verify").touch()
    assert submit(engine, "-c9").rc == 1


def pes(engine, *names):
    (engine.log / "pes").write_text("".join(f"{name} {rule} TRUE\n" for name, rule in names))


def test_a_pe_that_no_queue_offers_gives_way(engine):
    pes(engine, ("slurm-on-ocs.2", "2"), ("mpi", "2"))
    (engine.log / "unattached").write_text("slurm-on-ocs.2\n")
    (engine.log / "refuse.1").write_text("Unable to run job: error: no suitable queues.\nExiting.\n")
    result = submit(engine, "-N2", "--ntasks-per-node=2")
    assert (result.rc, result.stderr) == (0, "")
    assert [words[words.index("-pe") + 1] for words in result.calls] == ["slurm-on-ocs.2", "mpi"]


def test_a_pe_that_no_queue_offers_is_named(engine):
    pes(engine, ("slurm-on-ocs.2", "2"))
    (engine.log / "unattached").write_text("slurm-on-ocs.2\n")
    (engine.log / "refuse").write_text("Unable to run job: error: no suitable queues.\nExiting.\n")
    assert one_line(submit(engine, "-p", "all.q", "-N2", "--ntasks-per-node=2")) == (
        "Batch job submission failed: no queue of all.q offers parallel environment slurm-on-ocs.2, and no other fits; "
        "an administrator adds it with: qconf -aattr queue pe_list slurm-on-ocs.2 all.q")


# --- hosts and resources ---

def requests(result):
    """What -l asks for, and the other words about hosts."""
    words = result.calls[-1]
    asked = [item for i, word in enumerate(words) if word == "-l" for item in words[i + 1].split(",")]
    return asked + ([f"-masterq {words[words.index('-masterq') + 1]}"] if "-masterq" in words else [])


@pytest.mark.parametrize("argv, want", [
    (["--mem=1G"], ["mem=1024M"]),
    (["--mem=1G", "-c4"], ["mem=256M"]),
    (["--mem-per-cpu=100M", "-N2", "-c2"], ["mem=100M"]),
    (["--tmp=3G", "-c3"], ["scratch=3072M"]),
    (["--gres=gpu:a100:2", "-c3"], ["gpu_a100=2"]),
    (["-L", "ansys:2", "-N2"], ["ansys=2"]),
    (["-C", "small"], ["small=TRUE"]),
    (["-C", "small|big"], ["h=!n3"]),
    (["-C", "big|small", "-x", "n1"], ["h=!(n1|n3)"]),
    (["-w", "n[1-2]"], ["h=n1|n2"]),
    (["-w", "n3", "-N2"], ["-masterq *@n3"]),
    (["-x", "n1,n2"], ["h=!(n1|n2)"]),
    (["--exclusive"], ["excl=TRUE"]),
    (["-t", "1", "--mem=1"], ["h_rt=120", "mem=1M"]),
])
def test_requests_of_the_engine(engine, argv, want):
    result = submit(engine, *argv)
    assert (result.rc, result.stderr) == (0, "")
    assert requests(result) == want


def test_resources_in_the_job_file(engine):
    result = submit(engine, "-G", "a100:2", "--mem-per-gpu=1G", "--cpus-per-gpu=2", "--exclusive")
    job = read_job_file(result.spools[0] / "job")
    assert (job["gpus"], job["gpu_maps"], job["mem_per_gpu_mib"], job["cpus_per_gpu"], job["exclusive"]) == (
        "a100:2", "gpu_a100", 1024, 2, 1)
    assert (job["gpus_per_node"], job["gpus_per_task"], job["mem_per_node_mib"]) == (None, None, UNSET)


def test_hosts_of_a_file(engine):
    (engine.cwd / "hosts").write_text("n1\nn[3-4]\n")
    assert requests(submit(engine, "-F", "hosts")) == ["h=n1|n3|n4"]
    assert requests(submit(engine, "-w", "./hosts")) == ["h=n1|n3|n4"]


def test_memory_of_the_script_and_of_the_environment(engine):
    script = "#!/bin/sh\n#SBATCH --mem-per-cpu=5\n"
    result = submit(engine, script=script, env={"SBATCH_MEM_PER_NODE": "9"})
    assert requests(result) == ["mem=5M"]
    assert read_job_file(result.spools[0] / "job")["mem_per_node_mib"] == UNSET
    assert requests(submit(engine, env={"SBATCH_MEM_PER_NODE": "9"})) == ["mem=9M"]
    result = submit(engine, "--mem=7", script=script)
    assert (result.rc, result.calls) == (1, [])
    assert result.stderr == (
        "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.\n")


def asked_for_complexes(engine):
    return (engine.log / "qconf.log").read_text().split("\n").count("-sc")


def test_complexes_are_asked_for_once_a_minute(engine):
    for _ in range(3):
        assert requests(submit(engine, "--mem=1G")) == ["mem=1024M"]
    assert asked_for_complexes(engine) == 1
    cache = engine.spool / "complexes"
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600
    old = time.time() - 61
    os.utime(cache, (old, old))
    submit(engine, "--mem=1G")
    assert asked_for_complexes(engine) == 2


def test_a_complex_that_was_added_a_moment_ago(engine):
    assert submit(engine, "--mem=1G").rc == 0
    (engine.log / "complexes").write_text("fpga f INT <= YES YES 0 0\nslots s INT <= YES YES 1 1000\n")
    assert requests(submit(engine, "--gres=fpga:2")) == ["fpga=2"]


@pytest.mark.parametrize("content", ["", "x", "\0\n", "mem mem MEMORY <= YES HOST 0 0\ntorn"])
def test_a_broken_cache_of_complexes_costs_nothing(engine, content):
    assert submit(engine, "--mem=1G").rc == 0
    (engine.spool / "complexes").write_text(content)
    assert requests(submit(engine, "--mem=1G", "-c2")) == ["mem=512M"]


def test_no_memory_consumable_is_said_once(engine):
    (engine.log / "complexes").write_text("mem_total mt MEMORY <= YES NO 0 0\nslots s INT <= YES YES 1 1000\n")
    result = submit(engine, "--mem=1G")
    assert result.rc == 0 and requests(result) == ["mem_total=1024M"]
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("sbatch: Warning: --mem is done approximately: ")


def test_heterogeneous_jobs_are_refused(engine):
    text = one_line(submit(engine, script="#!/bin/sh\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2\n"))
    assert text.startswith("s.sh: line 3: heterogeneous jobs are not supported")
    text = one_line(engine.run(["sbatch", "-n1", ":", "-n2", "s.sh"]))
    assert text.startswith("':': heterogeneous jobs are not supported")


def test_a_broken_configuration(engine):
    (engine.folder / "slurm-on-ocs.conf").write_text('cluster_name = "lab;\n')
    result = submit(engine)
    assert (result.rc, result.stdout, result.calls) == (1, "", [])
    assert result.stderr.startswith("sbatch: fatal: ") and "slurm-on-ocs.conf:" in result.stderr


def test_qsub_killed_leaves_the_folder(engine, tmp_path):
    """It may have been after the engine took the job."""
    clients = tmp_path / "clients"
    clients.mkdir()
    (clients / "qsub").write_text(f'#!/bin/sh\n[ "$1" != -help ] || exec {FAKE}/qsub "$@"\nkill -9 $$\n')
    (clients / "qsub").chmod(0o755)
    result = submit(engine, env={"SGE_BINARY_PATH": str(clients)})
    assert result.rc == 1 and len(result.spools) == 1
    assert result.stderr == "sbatch: error: Batch job submission failed: qsub was killed by signal 9\n"


def test_standard_output_that_is_full(engine):
    (engine.cwd / "s.sh").write_text(SCRIPT)
    with open("/dev/full", "w") as full:
        done = subprocess.run(["sbatch", "s.sh"], executable=engine.link, env=engine.env, cwd=engine.cwd, stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert done.stderr == "sbatch: error: write error: No space left on device\n"


# --- the engine's words ---

def words_of(result):
    return result.calls[-1]


def test_limits_fall_back_to_the_queues(engine):
    """The backstop is later than the limit; where no queue allows it, the limit itself."""
    (engine.log / "refuse.1").write_text("Unable to run job: error: no suitable queues.\nExiting.\n")
    result = submit(engine, "-t", "10")
    assert result.rc == 0
    assert ["h_rt=660" in words for words in result.calls] == [True, False]
    assert "h_rt=600" in result.calls[1]
    assert read_job_file(result.spools[0] / "job")["time_limit"] == 600


def test_no_limit_no_h_rt(engine):
    result = submit(engine)
    assert not [word for word in words_of(result) if word.startswith("h_rt")]
    assert read_job_file(result.spools[0] / "job")["time_limit"] == INFINITE


def test_exact_geometry_by_pe_and_by_par(engine, tmp_path):
    words = words_of(submit(engine, "-N3", "--ntasks-per-node=2"))
    assert words[words.index("-pe"):][:3] == ["-pe", "slurm-on-ocs.2", "6"] and "-par" not in words
    (tmp_path / "other").mkdir()
    newer = FakeEngine(tmp_path / "other")
    (newer.log / "par").touch()
    words = words_of(submit(newer, "-N3", "--ntasks-per-node=2"))
    assert words[words.index("-par"):][:2] == ["-par", "2"]
    words = words_of(submit(newer, "-n5"))
    assert words[words.index("-par"):][:2] == ["-par", "$fill_up"]


def test_one_slot_needs_no_pe_and_no_look_at_them(engine):
    assert "-pe" not in words_of(submit(engine))
    assert not (engine.log / "qconf.log").exists()


def test_pes_are_cached_and_a_missing_one_is_looked_up_again(engine):
    log = engine.log / "qconf.log"
    submit(engine, "-c2")
    assert log.read_text() == "-spl\n"
    submit(engine, "-c3")
    assert log.read_text() == "-spl\n"
    (engine.log / "pes").write_text("slurm-on-ocs.2 2 TRUE\nslurm-on-ocs.11 11 TRUE\n")
    assert submit(engine, "-c11").rc == 0
    assert log.read_text() == "-spl\n-spl\n"
    old = time.time() - 3600
    os.utime(engine.spool / "pes", (old, old))
    submit(engine, "-c2")
    assert log.read_text() == "-spl\n-spl\n-spl\n"


def test_a_pe_that_the_site_names(engine):
    (engine.log / "pes").write_text("mpi 4 TRUE\nslurm-on-ocs.4 4 TRUE\n")
    (engine.folder / "slurm-on-ocs.conf").write_text(
        'cluster_name = "lab";\npartitions = ( { name = "p"; queue = "big.q"; pe = "mpi"; } );\n'
        'default_partition = "p";\n')
    words = words_of(submit(engine, "-N2", "-c4"))
    assert words[words.index("-pe") + 1] == "mpi"
    assert words[words.index("-q") + 1] == "big.q"


def test_trace_can_be_pasted(engine):
    result = submit(engine, "-J", "a 'b", "-N2", env={"SLURM_ON_OCS_TRACE": "1"})
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("+ qsub -terse")]
    assert shlex.split(line.removeprefix("+ ")) == words_of(result)


def test_hold_requeue_array(engine):
    words = words_of(submit(engine, "-H", "--requeue", "-a", "4-10:3%2"))
    assert "-h" in words and words[words.index("-r") + 1] == "y"
    assert words[words.index("-t"):][:4] == ["-t", "1-3", "-tc", "2"]
    assert words[words.index("-wd") + 1] == "/"


# --- who is called ---

def test_the_name_comes_from_the_file_that_was_executed(engine):
    (engine.cwd / "s.sh").write_text(SCRIPT)
    for argv, executable in ((["anything", "s.sh"], engine.link), (["sbatch", "s.sh"], BUILD / "translate"),
                             (["translate", "sbatch", "s.sh"], BUILD / "translate")):
        done = subprocess.run(argv, executable=executable, env=engine.env, cwd=engine.cwd, capture_output=True,
                              text=True, timeout=20, check=False)
        assert done.stdout == "Submitted batch job 17\n", (argv, done.stderr)


def test_closed_standard_streams(engine):
    (engine.cwd / "s.sh").write_text(SCRIPT)
    done = subprocess.run(["sh", "-c", f"{engine.link} s.sh <&- >&- 2>&-; echo $?"], env=engine.env, cwd=engine.cwd,
                          capture_output=True, text=True, timeout=20, check=False)
    assert done.stdout == "0\n"
    (spool,) = engine.spool.glob("*-*-*-*-*")
    assert (spool / "script").read_text() == SCRIPT
    read_job_file(spool / "job")


def test_submission_is_recorded(engine):
    result = submit(engine, "-N2", "-a", "1-3", "--comment=c")
    (line,) = (result.spools[0] / f"17.{os.uname().nodename}.jsonl").read_text().splitlines()
    for part in ('"event":"submit"', '"job":17', '"name":"name"', '"comment":"c"', '"array":[1,2,3]', '"nodes":2',
                 f'"spool":"{result.spools[0].name}"'):
        assert part in line


def test_the_stub_says_what_is_missing(engine):
    """The engine's own output goes to /dev/null: the words must be where the user looks."""
    result = submit(engine)
    stub = result.spools[0] / "stub"
    text = stub.read_text().replace(f"launch={BUILD}/shim-launch", "launch=/nonexistent/shim-launch")
    text = text.replace(f"minder={BUILD}/minder", "minder=/bin/true")
    done = subprocess.run(["sh", "-c", text], env={"PATH": "/usr/bin:/bin", "JOB_ID": "17"}, capture_output=True,
                          text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert (engine.cwd / "slurm-17.out").read_text().endswith("/nonexistent/shim-launch: not found or not executable\n")
