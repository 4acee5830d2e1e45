# SPDX-License-Identifier: Apache-2.0
"""--dependency on the engine: what starts when, and what never does."""

import re

import pytest


def script(body="true"):
    return f"#!/bin/bash\n{body}\n"


def until(name):
    """Runs until the test makes the file."""
    return f"until [ -e {name} ]; do sleep 0.1; done"


class Jobs:
    def __init__(self, cluster, workdir):
        self.cluster, self.workdir, self.ids = cluster, workdir, []

    def sbatch(self, body="true", *args, user="alice"):
        job = self.cluster.sbatch(script(body), ["-o", "/dev/null", "-p", "all.q", *args], user=user,
                                  cwd=self.workdir if user == "alice" else None)
        self.ids.append(job)
        return job

    def marker(self, name, *args, user="alice"):
        """A job that leaves a file where it ran."""
        return self.sbatch(f"touch ran.{name}.${{SLURM_ARRAY_TASK_ID:-x}}", *args, user=user)

    def qsub(self, body, *args):
        job = self.cluster.qsub(script(body), ["-o", "/dev/null", "-j", "y", *args], cwd=self.workdir)
        self.ids.append(job)
        return job

    def touch(self, name):
        self.cluster.write(f"{self.workdir}/{name}", "")

    def ran(self, name, index="x"):
        return self.cluster.exists(f"{self.workdir}/ran.{name}.{index}")

    def show(self, job, letters="%T %r %E"):
        return self.cluster.on("head", ["squeue", "-h", "-t", "all", "-j", str(job), "-o", letters],
                               user="root").stdout.strip()

    def wait(self, job, expected, timeout=40):
        self.cluster.wait_until(lambda: self.show(job) == expected, timeout, lambda: f"{job}: {self.show(job)}")

    def forge_end(self, job):
        """A later run of the job fails, as far as its record tells."""
        folder = self.cluster.outside(self.cluster.state).glob(f"**/acct/*/{job}.*.jsonl")
        record = next(path for path in folder if "\"end\"" in path.read_text())
        line = next(line for line in record.read_text().splitlines() if "\"end\"" in line)
        with record.open("a") as file:
            file.write(line.replace('"restart":0', '"restart":1').replace("COMPLETED", "FAILED") + "\n")


@pytest.fixture
def jobs(cluster, workdir):
    made = Jobs(cluster, workdir)
    yield made
    for job in made.ids:
        cluster.on("head", ["qdel", job], user="root")
    for job in made.ids:
        cluster.wait_job(job)


def test_ends_decide(jobs):
    """The chain that tests/golden's Slurm was asked: the same states, reasons and texts."""
    first = jobs.sbatch(until("go") + "; exit 1")
    ok, notok, after = (jobs.marker(kind, "-d", f"after{kind}:{first}") for kind in ("ok", "notok", "any"))
    kept = jobs.marker("kept", "-d", f"afterok:{first}", "--kill-on-invalid-dep=no")
    for job, kind in ((ok, "ok"), (notok, "notok"), (after, "any"), (kept, "ok")):
        assert jobs.show(job) == f"PENDING Dependency after{kind}:{first}(unfulfilled)"
    jobs.touch("go")
    jobs.wait(first, "FAILED NonZeroExitCode (null)")
    jobs.wait(ok, f"CANCELLED DependencyNeverSatisfied afterok:{first}(failed)")
    jobs.wait(notok, "COMPLETED None (null)")
    jobs.wait(after, "COMPLETED None (null)")
    jobs.wait(kept, f"PENDING DependencyNeverSatisfied afterok:{first}(failed)")
    assert [jobs.ran(kind) for kind in ("ok", "notok", "any", "kept")] == [False, True, True, False]
    text = jobs.cluster.on("head", ["scontrol", "show", "job", str(ok)]).stdout
    assert f"JobState=CANCELLED Reason=DependencyNeverSatisfied Dependency=afterok:{first}(failed)" in text


def test_success_lets_go(jobs):
    first = jobs.sbatch()
    ok = jobs.marker("ok", "-d", f"afterok:{first}")
    notok = jobs.marker("notok", "-d", f"afternotok:{first}")
    jobs.wait(ok, "COMPLETED None (null)")
    jobs.wait(notok, f"CANCELLED DependencyNeverSatisfied afternotok:{first}(failed)")
    assert jobs.ran("ok") and not jobs.ran("notok")


def test_a_job_that_is_over_is_remembered(jobs):
    good, bad = jobs.sbatch(), jobs.sbatch("exit 3")
    jobs.cluster.wait_job(good)
    jobs.cluster.wait_job(bad)
    free = jobs.marker("free", "-d", f"afterok:{good},afternotok:{bad}")
    never = jobs.marker("never", "-d", f"afterok:{bad}")
    jobs.wait(never, f"CANCELLED DependencyNeverSatisfied afterok:{bad}(failed)", 5)
    jobs.wait(free, "COMPLETED None (null)")
    assert jobs.ran("free") and not jobs.ran("never")
    # it was given no slots to learn that
    assert jobs.cluster.on("head", ["qacct", "-j", str(never)]).returncode != 0


def test_an_unknown_job_counts_as_met(jobs):
    jobs.wait(jobs.marker("unknown", "-d", "afterok:9999998:9999999"), "COMPLETED None (null)")
    assert jobs.ran("unknown")


def test_a_start_lets_go(jobs):
    running = jobs.sbatch(until("go"))
    pending = jobs.sbatch(until("go"), "-H")
    now = jobs.marker("now", "-d", f"after:{running}")
    later = jobs.marker("later", "-d", f"after:{running}:{pending}")
    jobs.wait(now, "COMPLETED None (null)")
    assert jobs.show(later).startswith("PENDING Dependency")
    jobs.cluster.on("head", ["scontrol", "release", str(pending)], check=True)
    jobs.wait(later, "COMPLETED None (null)")
    assert jobs.show(running, "%T") == jobs.show(pending, "%T") == "RUNNING"
    jobs.touch("go")


def test_minutes_after_the_start(jobs):
    first = jobs.sbatch("date +%s >start; " + until("go"))
    late = jobs.sbatch("date +%s >late", "-d", f"after:{first}+1")
    jobs.cluster.wait_running(first)
    jobs.wait(late, f"PENDING Dependency after:{first}+1(unfulfilled)")
    # the end of the first doesn't shorten it
    jobs.touch("go")
    jobs.cluster.wait_job(first)
    jobs.wait(late, "COMPLETED None (null)", 100)
    start, begun = (int(jobs.cluster.read(f"{jobs.workdir}/{name}")) for name in ("start", "late"))
    assert 59 <= begun - start <= 80
    # and it never had slots meanwhile
    assert float(jobs.cluster.qacct(late)[0]["ru_wallclock"].rstrip("s")) < 10


def test_one_of_several_is_enough(jobs):
    bad, long = jobs.sbatch(until("go.bad") + "; exit 1"), jobs.sbatch(until("go"))
    job = jobs.marker("one", "-d", f"afterok:{bad}?afternotok:{bad}?afterok:{long}")
    assert jobs.show(job) == "PENDING Dependency " + \
        f"afterok:{bad}(unfulfilled)?afternotok:{bad}(unfulfilled)?afterok:{long}(unfulfilled)"
    jobs.touch("go.bad")
    jobs.wait(job, "COMPLETED None (null)")
    assert jobs.show(long, "%T") == "RUNNING" and jobs.ran("one")
    neither = jobs.marker("neither", "-d", f"afterok:{bad}?afternotok:{long}")
    assert jobs.show(neither) == \
        f"PENDING Dependency afterok:{bad}(failed)?afternotok:{long}(unfulfilled)"
    jobs.touch("go")
    jobs.wait(neither, f"CANCELLED DependencyNeverSatisfied afterok:{bad}(failed)?afternotok:{long}(failed)")
    assert not jobs.ran("neither")


def test_an_element_is_waited_for_alone(jobs):
    array = jobs.sbatch(until("go.$SLURM_ARRAY_TASK_ID"), "-a", "5,7,9")
    by_index = jobs.marker("index", "-d", f"afterok:{array}_5")
    by_number = jobs.marker("number", "-d", f"afterok:{array * 100000 + 2}")
    whole = jobs.marker("whole", "-d", f"afterok:{array}")
    assert jobs.show(by_number) == f"PENDING Dependency afterok:{array}_7(unfulfilled)"
    jobs.touch("go.5")
    jobs.touch("go.7")
    jobs.wait(by_index, "COMPLETED None (null)")
    jobs.wait(by_number, "COMPLETED None (null)")
    assert jobs.show(whole) == f"PENDING Dependency afterok:{array}(unfulfilled)"
    jobs.touch("go.9")
    jobs.wait(whole, "COMPLETED None (null)")


def test_elements_wait_for_their_counterparts(jobs):
    first = jobs.sbatch("case $SLURM_ARRAY_TASK_ID in 4) exit 1 ;; 6) " + until("go") + " ;; esac", "-a", "2-6:2")
    second = jobs.marker("corr", "-a", "2-6:2", "-d", f"aftercorr:{first}")
    jobs.cluster.wait_until(lambda: jobs.ran("corr", 2), 30, "element 2 didn't start")
    assert not jobs.ran("corr", 6)
    assert jobs.show(f"{second}_6") == f"PENDING Dependency aftercorr:{first}(unfulfilled)"
    jobs.touch("go")
    jobs.cluster.wait_job(second)
    # an array that comes when all is decided
    late = jobs.marker("late", "-a", "2-6:2", "-d", f"aftercorr:{first}")
    jobs.cluster.wait_job(late)
    assert [jobs.ran("late", k) for k in (2, 4, 6)] == [True, False, True]
    assert [jobs.ran("corr", k) for k in (2, 4, 6)] == [True, False, True]
    states = dict(line.split() for line in jobs.show(second, "%K %T").splitlines())
    assert states == {"2": "COMPLETED", "4": "CANCELLED", "6": "COMPLETED"}
    assert jobs.show(f"{second}_4", "%r") == "DependencyNeverSatisfied"


def test_one_at_a_time_of_a_name(jobs):
    # each would fail in the other's presence
    body = "mkdir lock || touch ran.together.x; " + until("go") + "; rmdir lock"
    first, second = (jobs.sbatch(body, "-J", "one: at a/time", "-d", "singleton") for _ in range(2))
    jobs.cluster.wait_running(first)
    assert jobs.show(second) == "PENDING Dependency singleton(unfulfilled)"
    other = jobs.marker("other", "-J", "other", "-d", "singleton")
    jobs.wait(other, "COMPLETED None (null)")
    assert "h" in jobs.cluster.job_state(second)
    jobs.touch("go")
    for job in (first, second):
        jobs.wait(job, "COMPLETED None (null)")
    assert not jobs.ran("together")


def test_a_cancelled_job_was_no_success(jobs):
    pending, running = jobs.sbatch("true", "-H"), jobs.sbatch("exec sleep 100")
    waiting = {name: jobs.marker(name, "-d", what) for name, what in [
        ("ok", f"afterok:{pending}"), ("any", f"afterany:{pending}"), ("after", f"after:{pending}"),
        ("ok2", f"afterok:{running}"), ("notok2", f"afternotok:{running}")]}
    jobs.cluster.wait_running(running)
    jobs.cluster.on("head", ["scancel", str(pending)], check=True)
    jobs.cluster.on("head", ["qdel", str(running)], check=True)
    for name, job in waiting.items():
        jobs.cluster.wait_job(job)
        assert jobs.ran(name) == (name not in ("ok", "ok2")), name
    assert jobs.show(waiting["ok2"]) == f"CANCELLED DependencyNeverSatisfied afterok:{running}(failed)"


def test_native_jobs_are_waited_for(jobs):
    good, bad = jobs.qsub("sleep 2"), jobs.qsub("sleep 2; exit 3")
    ok = jobs.marker("ok", "-d", f"afterok:{good},afternotok:{bad}")
    never = jobs.marker("never", "-d", f"afterok:{good}:{bad}")
    assert jobs.show(ok).startswith("PENDING Dependency")
    jobs.cluster.wait_job(ok)
    jobs.cluster.wait_job(never)
    assert jobs.ran("ok") and not jobs.ran("never")
    assert jobs.show(never, "%T %r") == "CANCELLED DependencyNeverSatisfied"


def test_another_users_job_is_waited_for(jobs):
    theirs = jobs.sbatch("sleep 2; exit 1", user="bob")
    ok = jobs.marker("ok", "-d", f"afterok:{theirs}")
    notok = jobs.marker("notok", "-d", f"afternotok:{theirs}")
    assert jobs.show(ok) == f"PENDING Dependency afterok:{theirs}(unfulfilled)"
    jobs.cluster.wait_job(ok)
    jobs.cluster.wait_job(notok)
    assert not jobs.ran("ok") and jobs.ran("notok")


def test_never_wrong_where_hosts_may_not_change_jobs(jobs):
    """No execution host is a submit host: -hold_jid and the look at the start do it alone."""
    for host in jobs.cluster.exec_hosts:
        jobs.cluster.on("head", ["qconf", "-ds", host], user="root", check=True)
    try:
        first = jobs.sbatch(until("go") + "; exit 1")
        names = {name: jobs.marker(name, "-d", what) for name, what in [
            ("ok", f"afterok:{first}"), ("notok", f"afternotok:{first}"), ("or", f"afterok:{first}?afterany:{first}")]}
        jobs.touch("go")
        for name, job in names.items():
            jobs.cluster.wait_job(job)
            assert jobs.ran(name) == (name != "ok"), name
        assert jobs.show(names["ok"]) == f"CANCELLED DependencyNeverSatisfied afterok:{first}(failed)"
    finally:
        for host in jobs.cluster.exec_hosts:
            jobs.cluster.on("head", ["qconf", "-as", host], user="root", check=True)


def test_a_chain_falls_as_a_whole(jobs):
    first = jobs.sbatch(until("go") + "; exit 1")
    second = jobs.marker("second", "-d", f"afterok:{first}")
    third = jobs.marker("third", "-d", f"afterok:{second}")
    fourth = jobs.marker("fourth", "-d", f"afterany:{third}")
    jobs.touch("go")
    for job in (second, third, fourth):
        jobs.cluster.wait_job(job)
    assert [jobs.ran(name) for name in ("second", "third", "fourth")] == [False, False, True]
    assert jobs.show(third) == f"CANCELLED DependencyNeverSatisfied afterok:{second}(failed)"
    # and no part of it was given slots to learn that
    for job in (second, third):
        assert jobs.cluster.on("head", ["qacct", "-j", str(job)]).returncode != 0


def test_a_job_that_others_let_go_waits_on(jobs):
    """Somebody takes off the engine's hold: the script doesn't start for that, nor after a deletion."""
    first = jobs.sbatch(until("go"))
    waits, deleted = jobs.marker("waits", "-d", f"afterok:{first}"), jobs.marker("deleted", "-d", f"afterok:{first}")
    for job in (waits, deleted):
        jobs.cluster.on("head", ["qalter", "-hold_jid", "99999999", str(job)], check=True)
        jobs.cluster.wait_running(job)
    jobs.cluster.on("head", ["qdel", str(deleted)], check=True)
    jobs.cluster.wait_job(deleted)
    assert not jobs.ran("waits") and not jobs.ran("deleted")
    jobs.touch("go")
    jobs.wait(waits, "COMPLETED None (null)")
    assert jobs.ran("waits") and not jobs.ran("deleted")


def test_a_job_that_passed_once_is_not_asked_again(jobs):
    """Requeued, it runs whatever became of its predecessor's own second run."""
    first = jobs.sbatch("[ -e failing ] && exit 1; sleep 1", "--requeue")
    job = jobs.sbatch("echo run >>runs; " + until("go"), "--requeue", "-d", f"afterok:{first}")
    jobs.cluster.wait_running(job)
    jobs.cluster.wait_until(lambda: jobs.cluster.exists(f"{jobs.workdir}/runs"), 30, "it doesn't run")
    # what a second, failed run of the first leaves
    jobs.forge_end(first)
    jobs.cluster.on("head", ["qmod", "-rj", str(job)], user="root", check=True)
    jobs.cluster.wait_until(lambda: jobs.cluster.read(f"{jobs.workdir}/runs").count("run") == 2, 60, "no second run")
    jobs.touch("go")


def test_held_and_waiting(jobs):
    first = jobs.sbatch(until("go"))
    job = jobs.marker("held", "-H", "-d", f"afterany:{first}")
    assert jobs.show(job) == f"PENDING JobHeldUser afterany:{first}(unfulfilled)"
    jobs.cluster.on("head", ["scontrol", "release", str(job)], check=True)
    assert jobs.show(job) == f"PENDING Dependency afterany:{first}(unfulfilled)"
    jobs.touch("go")
    jobs.wait(job, "COMPLETED None (null)")


def test_refused_words(jobs):
    done = jobs.cluster.on("head", ["sbatch", "-d", "afterok:1,afterany:2?after:3", "--wrap", "true"])
    assert done.returncode == 1 and not done.stdout
    assert re.fullmatch(r"sbatch: error: Batch job submission failed: Job dependency problem\n", done.stderr)
