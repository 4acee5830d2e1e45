# SPDX-License-Identifier: Apache-2.0
"""slurm-on-ocs install and uninstall on a real cell. The installation of the cluster is put back after each test."""

import json

import pytest

PES = [f"slurm-on-ocs.{k}" for k in (1, 2, 3, 4)] + ["slurm-on-ocs.fill"]


@pytest.fixture
def program(cluster):
    return f"{cluster.state}/site/bin/slurm-on-ocs"


@pytest.fixture
def bare(cluster, program):
    """The cell as it was before install; ends with everything in place again."""
    cluster.on("head", ["qdel", "-u", "*"], user="root")
    cluster.wait_until(lambda: not cluster.on("head", ["qstat", "-u", "*"], user="root").stdout, 60, "no jobs")
    cluster.on("head", [program, "uninstall", "--apply"], user="root", check=True)
    yield
    cluster.on("head", "qdel -u '*'", user="root")
    cluster.wait_until(lambda: not cluster.on("head", ["qstat", "-u", "*"], user="root").stdout, 60, "no jobs")
    cluster.on("head", [program, "uninstall", "--apply"], user="root", check=True)
    cluster.on("head", [program, "install", "--apply", "--queue", "all.q"], user="root", check=True)


def objects(cluster):
    """Everything that the installer could change, as qconf prints it."""
    script = """for q in $(qconf -sql); do qconf -sq $q; done; qconf -spl; for p in $(qconf -spl); do qconf -sp $p; done
                ls -A $SGE_ROOT/$SGE_CELL/common"""
    return cluster.on("head", script, user="root", check=True).stdout


def installer(cluster, program, *words, user="root"):
    return cluster.on("head", [program, *words], user=user)


def test_plan_apply_again_and_back(cluster, program, bare):
    before = objects(cluster)
    plan = installer(cluster, program, "install", "--queue", "all.q")
    assert plan.returncode == 0 and "with --apply" in plan.stdout
    assert objects(cluster) == before, "a plan changed something"

    done = installer(cluster, program, "install", "--queue", "all.q", "--apply")
    assert (done.returncode, done.stderr) == (0, "")
    queue = cluster.on("head", ["qconf", "-sq", "all.q"], user="root").stdout
    assert f"starter_method        {cluster.state}/site/libexec/slurm-on-ocs/starter" in queue
    listed = cluster.on("head", ["qconf", "-spl"], user="root").stdout.split()
    assert set(PES) <= set(listed)
    pe = cluster.on("head", ["qconf", "-sp", "slurm-on-ocs.3"], user="root").stdout
    assert "allocation_rule    3\ncontrol_slaves     TRUE\njob_is_first_task  FALSE\n" in pe
    folder = cluster.on("head", "stat -c %a $SGE_ROOT/$SGE_CELL/common/slurm-on-ocs/acct", user="root").stdout
    assert folder == "1777\n"
    assert "plain.q" not in done.stdout

    again = installer(cluster, program, "install", "--queue", "all.q", "--apply")
    assert (again.returncode, again.stdout) == (0, "everything is in place\n")
    back = installer(cluster, program, "uninstall", "--apply")
    assert (back.returncode, back.stderr) == (0, "")
    assert objects(cluster) == before
    assert installer(cluster, program, "uninstall").stdout == "nothing is installed in this cell\n"


def test_values_per_host_survive(cluster, program, bare):
    for value in ("pe_list [c2=make],[c3=NONE]", "slots [c2=6]"):
        name, value = value.split()
        cluster.on("head", ["qconf", "-mattr", "queue", name, value, "all.q"], user="root", check=True)
    try:
        before = objects(cluster)
        assert installer(cluster, program, "install", "--queue", "all.q", "--apply").returncode == 0
        shown = cluster.on("head", "SGE_SINGLE_LINE=1 qconf -sq all.q", user="root").stdout
        pe_list = next(line for line in shown.splitlines() if line.startswith("pe_list"))
        assert "[c3=NONE]" in pe_list and "slurm-on-ocs.6" in pe_list
        assert "[c2=make slurm-on-ocs.1 " in pe_list
        assert installer(cluster, program, "uninstall", "--apply").returncode == 0
        assert objects(cluster) == before
    finally:
        for name in ("pe_list", "slots"):
            for host in ("c2", "c3"):
                cluster.on("head", ["qconf", "-purge", "queue", name, f"all.q@{host}"], user="root")


def test_what_isnt_ours_is_refused(cluster, program, bare):
    pe = cluster.on("head", ["qconf", "-sp", "make"], user="root").stdout
    cluster.write("/tmp/foreign", pe.replace("make", "slurm-on-ocs.2"), user="root")
    cluster.on("head", ["qconf", "-Ap", "/tmp/foreign"], user="root", check=True)
    before = objects(cluster)
    try:
        result = installer(cluster, program, "install", "--queue", "all.q", "--apply")
        assert result.returncode == 1
        assert "slurm-on-ocs.2 exists with another" in result.stderr and result.stderr.count("\n") == 1
        assert objects(cluster) == before
    finally:
        cluster.on("head", ["qconf", "-dp", "slurm-on-ocs.2"], user="root", check=True)


def test_a_starter_of_the_sites_is_refused_or_chained(cluster, program, bare):
    site = "/usr/bin/nice"
    cluster.on("head", ["qconf", "-mattr", "queue", "starter_method", site, "all.q"], user="root", check=True)
    before = objects(cluster)
    try:
        result = installer(cluster, program, "install", "--queue", "all.q", "--apply")
        assert result.returncode == 1
        assert f"queue all.q has a starter_method of its own ({site})" in result.stderr
        assert objects(cluster) == before
        assert installer(cluster, program, "install", "--queue", "all.q", "--apply", "--chain").returncode == 0
        job = cluster.qsub("#!/bin/bash\nnice >priority\n", ["-q", "all.q"])
        cluster.wait_job(job)
        assert cluster.read(f"{cluster.home()}/priority") == "10\n", "the site's starter didn't run"
        job = cluster.sbatch("#!/bin/bash\necho $SLURM_JOB_ID >number\n")
        cluster.wait_job(job)
        assert cluster.read(f"{cluster.home()}/number") == f"{job}\n"
        assert installer(cluster, program, "uninstall", "--apply").returncode == 0
        assert objects(cluster) == before
    finally:
        text = cluster.on("head", ["qconf", "-sq", "all.q"], user="root").stdout.replace(site, "NONE")
        cluster.write("/tmp/queue", text, user="root")
        cluster.on("head", ["qconf", "-Mq", "/tmp/queue"], user="root", check=True)


def test_only_managers_and_never_under_jobs(cluster, program, bare):
    before = objects(cluster)
    result = installer(cluster, program, "install", "--queue", "all.q", "--apply", user="alice")
    assert result.returncode == 1
    assert result.stderr.endswith("alice is no manager of this cell (see qconf -sm); nothing was changed\n")
    assert objects(cluster) == before
    assert installer(cluster, program, "install", "--queue", "all.q", "--apply").returncode == 0
    job = cluster.sbatch("#!/bin/bash\nexec sleep 100\n")
    installed = objects(cluster)
    result = installer(cluster, program, "uninstall", "--apply")
    assert result.returncode == 1 and f"({job})" in result.stderr
    assert objects(cluster) == installed


def test_the_state_tells_what_was_before(cluster, program, bare):
    before = cluster.on("head", "SGE_SINGLE_LINE=1 qconf -sq all.q", user="root").stdout
    assert installer(cluster, program, "install", "--queue", "all.q", "--apply").returncode == 0
    text = cluster.on("head", "cat $SGE_ROOT/$SGE_CELL/common/slurm-on-ocs/installed.json", user="alice").stdout
    state = json.loads(text)
    assert state["pes"] == PES
    for name, value in state["queues"]["all.q"].items():
        assert any(line.split(None, 1) == [name, value["before"]] for line in before.splitlines()), name
