# SPDX-License-Identifier: Apache-2.0
"""Hosts and resources on the real engine: what a job gets, what is taken while it runs, what a cell can't express.

The cell gets complexes of its own for these tests; the engine without HOST consumables has them per slot or per job.
With ENGINE_ROOT and CLUSTER of a cluster of OCS, what only that has is tested, too.
"""

import re
import tempfile

import pytest

CONF = '''
cluster_name = "soc";
tmp_complex = "t_disk";
gres = ( { name = "gpu:small"; complex = "gpu"; request = "t_model=small"; } );
features = ( { name = "one"; request = "t_model=small"; }, { name = "two"; request = "t_model=large"; },
             { name = "three"; request = "t_model=huge"; }, { name = "nobody"; request = "t_big=FALSE"; } );
'''
SHOW = ('echo "HOST $(hostname) $NHOSTS $NSLOTS"; env | grep -E "GPU|CUDA|GPU_DEVICE|ROCR|SLURM_MEM" | sort; '
        '[ ! -e "$PE_HOSTFILE" ] || sed "s/^/SLOTS /" "$PE_HOSTFILE"')


def qconf(cluster, *words):
    return cluster.on("head", ["qconf", *words], user="root", check=True).stdout


def store_complexes(cluster, text):
    with tempfile.NamedTemporaryFile("w", dir=cluster.outside("/home"), prefix="complexes-") as file:
        file.write(text)
        file.flush()
        qconf(cluster, "-Mc", f"/home/{file.name.rpartition('/')[2]}")


@pytest.fixture(scope="module")
def is_ocs(cluster):
    return cluster.on("head", ["qsub", "-help"]).stdout.startswith("OCS ")


def forget_complexes(cluster):
    """What sbatch knows of the cell is up to a minute old: not here."""
    cluster.on("head", "rm -f ~/.slurm-on-ocs/*/complexes", check=True)


@pytest.fixture(scope="module")
def cell(cluster, is_ocs):
    """Complexes: memory, disk, licenses, whole hosts, models of hosts; c1 and c2 have big=TRUE, c3 another model."""
    before = qconf(cluster, "-sc")
    hosts = {host: re.search(r"^complex_values\s+(.*)$", qconf(cluster, "-se", host), re.M)[1]
             for host in cluster.exec_hosts}
    host = "HOST" if is_ocs else "YES"
    store_complexes(cluster, before + "\n".join([
        f"mem t_mem MEMORY <= YES {host} 0 0", "t_disk t_disk MEMORY <= YES YES 0 0",
        "t_lic t_lic INT <= YES JOB 0 0", "t_excl t_excl BOOL EXCL YES YES 0 1000",
        "t_model t_model STRING == YES NO NONE 0", "big t_big BOOL == YES NO 0 0", ""]))
    try:
        for name in cluster.exec_hosts:
            model = {"c1": "small", "c2": "large"}.get(name, "huge")
            big = ",big=TRUE" if name != "c3" else ""
            more = f"mem=8G,t_disk=4G,t_excl=TRUE,t_model={model}{big}"
            qconf(cluster, "-mattr", "exechost", "complex_values", f"{hosts[name]},{more}", name)
        qconf(cluster, "-mattr", "exechost", "complex_values", "t_lic=3", "global")
        forget_complexes(cluster)
        yield cluster
    finally:
        for name, values in hosts.items():
            qconf(cluster, "-rattr", "exechost", "complex_values", values, name)
        qconf(cluster, "-rattr", "exechost", "complex_values", "NONE", "global")
        store_complexes(cluster, before)
        forget_complexes(cluster)


def sbatch(cluster, workdir, *argv, conf=CONF):
    if conf and not cluster.exists(f"{workdir}/conf"):
        cluster.write(f"{workdir}/conf", conf)
    env = {"SLURM_ON_OCS_CONF": f"{workdir}/conf"} if conf else {}
    return cluster.on("head", ["sbatch", *argv], cwd=workdir, env=env)


def job_of(result):
    match = re.fullmatch(r"Submitted batch job (\d+)\n", result.stdout)
    assert match and result.returncode == 0, (result.stdout, result.stderr)
    return int(match[1])


def run(cluster, workdir, *argv, script=SHOW, conf=CONF):
    """The job's output."""
    job = job_of(sbatch(cluster, workdir, *argv, "-o", f"{workdir}/out", "--wrap", script, conf=conf))
    cluster.wait_job(job)
    return cluster.read(f"{workdir}/out")


def slots(text):
    return {line.split()[1]: int(line.split()[2]) for line in text.splitlines() if line.startswith("SLOTS ")}


def variables(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("SLOTS"))


def asked(cluster, job):
    """The hard resource requests of a job, as the engine has them."""
    text = cluster.on("head", ["qstat", "-j", job], check=True).stdout
    match = re.search(r"^hard[ _]resource_list:\s+(.*)$", text, re.M)
    return dict(item.split("=", 1) for item in match[1].split(",")) if match else {}


def held(cluster, workdir, *argv, conf=CONF):
    """What a held job asks the engine for; it is removed again."""
    job = job_of(sbatch(cluster, workdir, "-H", *argv, "--wrap", "true", conf=conf))
    try:
        return asked(cluster, job)
    finally:
        cluster.on("head", ["qdel", job], check=True)


def refused(cluster, workdir, *argv, conf=CONF):
    result = sbatch(cluster, workdir, *argv, "--wrap", "true", conf=conf)
    assert (result.returncode, result.stdout) == (1, ""), (result.stdout, result.stderr)
    return result.stderr


# --- hosts ---

@pytest.mark.parametrize("argv, hosts", [
    (["-w", "c2"], {"c2"}),
    (["-w", "c[2-3]"], {"c2", "c3"}),
    (["-w", "c3", "-N2"], {"c1", "c3"}),
    (["-x", "c1"], {"c2"}),
    (["-x", "c[1,3]"], {"c2"}),
    (["-N2", "-x", "c1"], {"c2", "c3"}),
    (["-w", "c2,c3", "-n4"], {"c2", "c3"}),
])
def test_exact_hosts(cluster, workdir, argv, hosts):
    text = run(cluster, workdir, *argv, conf=None)
    assert set(slots(text)) == hosts or {text.split()[1]} == hosts, text


def test_the_named_host_of_a_larger_job_is_its_first(cluster, workdir):
    assert run(cluster, workdir, "-w", "c3", "-N2", conf=None).startswith("HOST c3 2 2\n")


def test_hosts_that_are_not_there(cluster, workdir):
    invalid = "sbatch: error: Batch job submission failed: Invalid node name specified\n"
    none = "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"
    assert refused(cluster, workdir, "-w", "c9", conf=None) == invalid
    assert refused(cluster, workdir, "-x", "c9", conf=None) == invalid
    assert refused(cluster, workdir, "-w", "c1", "-x", "c1", conf=None) == invalid
    assert refused(cluster, workdir, "-x", "c[1-3]", conf=None) == none


# --- a cell without complexes for it (the tests behind these give it some) ---

def test_memory_without_a_consumable_is_said(cluster, workdir):
    """Clients ask for memory always: the job goes where there is as much, and a warning says what is missing."""
    result = sbatch(cluster, workdir, "--mem=1G", "--wrap", "true", conf=None)
    job = job_of(result)
    cluster.wait_job(job)
    assert result.stderr.startswith("sbatch: Warning: --mem is done approximately: no memory is reserved")
    assert "qconf -mc" in result.stderr and result.stderr.count("\n") == 1
    text = refused(cluster, workdir, "--mem=900T", conf=None)
    assert text.endswith("sbatch: error: Memory specification can not be satisfied\n"
                         "sbatch: error: Batch job submission failed: Requested node configuration is not available\n")


def test_exclusive_by_slots(cluster, workdir):
    result = sbatch(cluster, workdir, "--exclusive", "-N2", "-o", "out", "--wrap", SHOW, conf=None)
    cluster.wait_job(job_of(result))
    assert result.stderr.startswith("sbatch: Warning: --exclusive is done approximately: the job takes all slots")
    assert sorted(slots(cluster.read(f"{workdir}/out")).values()) == [4, 4]


def test_disk_space_without_a_complex(cluster, workdir):
    assert "tmp_complex of slurm-on-ocs.conf" in refused(cluster, workdir, "--tmp=1G", conf=None)


# --- memory ---

def test_memory_is_reserved_on_each_host(cell, workdir, is_ocs):
    assert held(cell, workdir, "--mem=2G", "-c2")["mem"] == ("2048M" if is_ocs else "1024M")
    assert held(cell, workdir, "--mem-per-cpu=1G", "-c2")["mem"] == ("2048M" if is_ocs else "1024M")
    job = job_of(sbatch(cell, workdir, "--mem=5G", "-c2", "-w", "c1", "--wrap", "sleep 300"))
    try:
        cell.wait_running(job)
        free = cell.on("head", ["qhost", "-h", "c1", "-F", "mem"], check=True).stdout
        assert "hc:mem=3.000G" in free, free
        text = refused(cell, workdir, "--mem=9G")
        assert text == ("sbatch: error: Memory specification can not be satisfied\n"
                        "sbatch: error: Batch job submission failed: Requested node configuration is not available\n")
    finally:
        cell.on("head", ["qdel", job], check=True)
        cell.wait_job(job)


def test_memory_in_the_environment(cell, workdir):
    assert variables(run(cell, workdir, "--mem=1G"))["SLURM_MEM_PER_NODE"] == "1024"
    assert variables(run(cell, workdir, "--mem-per-cpu=100M"))["SLURM_MEM_PER_CPU"] == "100"


# --- GPUs ---

def test_gpus_are_reserved(cluster, workdir, is_ocs):
    job = job_of(sbatch(cluster, workdir, "--gres=gpu:3", "-w", "c2", "--wrap", "sleep 300", conf=None))
    try:
        cluster.wait_running(job)
        free = cluster.on("head", ["qhost", "-h", "c2", "-F", "gpu"], check=True).stdout
        assert re.search(r"hc:gpu=1(\.0+)?$", free, re.M), free
    finally:
        cluster.on("head", ["qdel", job], check=True)
        cluster.wait_job(job)
    text = refused(cluster, workdir, "--gres=gpu:5", conf=None)
    assert text.endswith("Requested node configuration is not available\n")
    assert is_ocs or "this cell doesn't say which" in text


def test_gpus_as_slots_share_them(cluster, workdir, is_ocs):
    """-N2 --gpus=4 -c2 is two on each host, exactly, whether the engine counts them per slot or per host."""
    asked_for = held(cluster, workdir, "-N2", "--gpus=4", "-c2", conf=None)["gpu"]
    assert asked_for == ("2" if is_ocs else "1")
    assert held(cluster, workdir, "-n2", "--gpus-per-task=2", conf=None)["gpu"] == ("4" if is_ocs else "2")
    if not is_ocs:
        text = refused(cluster, workdir, "--gres=gpu:1", "-c2", conf=None)
        assert "1 of gpu on a host of 2 slots: the engine counts it for each slot" in text


def test_what_a_cell_cannot_say_about_gpus(cluster, workdir):
    assert "3 GPUs on 2 hosts" in refused(cluster, workdir, "-N2", "-G3", conf=None)
    assert "no host has so many GPUs; say with --nodes" in refused(cluster, workdir, "-G8", conf=None)
    assert "the cell has no consumable fpga for fpga" in refused(cluster, workdir, "--gres=fpga", conf=None)
    assert "knows no type h100 of gpu" in refused(cluster, workdir, "-G", "h100:1", conf=None)
    assert refused(cluster, workdir, "--ntasks-per-gpu=1", "-G1", conf=None).count("\n") == 1


def test_a_type_is_the_sites(cell, workdir):
    asked_for = held(cell, workdir, "--gres=gpu:small:2")
    assert (asked_for["gpu"], asked_for["t_model"]) == ("2", "small")
    assert run(cell, workdir, "-G", "small:1").startswith("HOST c1 ")


def test_no_mask_where_nobody_says_which(cluster, workdir, is_ocs):
    if is_ocs:
        pytest.skip("RSMAP says which")
    got = variables(run(cluster, workdir, "-G2", conf=None))
    assert got == {"SLURM_GPUS": "2"}


def test_masks_are_what_was_granted(cluster, workdir, is_ocs):
    """On two hosts with different ids, since another job has the first GPU of one."""
    if not is_ocs:
        pytest.skip("needs RSMAP")
    first = job_of(sbatch(cluster, workdir, "--gres=gpu:1", "-w", "c1", "--wrap", "sleep 300", conf=None))
    try:
        cluster.wait_running(first)
        rank = 'echo "RANK $(hostname) $CUDA_VISIBLE_DEVICES $SLURM_STEP_GPUS $SLURM_GPUS_ON_NODE"'
        text = run(cluster, workdir, "-N2", "-w", "c[1-2]", "--gpus-per-node=2", conf=None,
                   script=f"{SHOW}; srun sh -c '{rank}'")
    finally:
        cluster.on("head", ["qdel", first], check=True)
        cluster.wait_job(first)
    got = variables(text)
    ids = "1,2" if text.startswith("HOST c1") else "0,1"
    for name in ("SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES"):
        assert got[name] == ids, text
    assert (got["SLURM_GPUS_ON_NODE"], got["SLURM_GPUS_PER_NODE"]) == ("2", "2")
    assert sorted(line for line in text.splitlines() if line.startswith("RANK")) == [
        "RANK c1 1,2 1,2 2", "RANK c2 0,1 0,1 2"]


def test_gpus_of_tasks(cluster, workdir, is_ocs):
    if not is_ocs:
        pytest.skip("needs RSMAP")
    text = run(cluster, workdir, "-N1", "-n2", "--gpus-per-task=2", conf=None,
               script='srun sh -c \'echo "RANK $SLURM_PROCID $CUDA_VISIBLE_DEVICES"\'')
    assert sorted(text.splitlines()) == ["RANK 0 0,1", "RANK 1 2,3"]


def test_gpus_of_array_elements(cluster, workdir, is_ocs):
    if not is_ocs:
        pytest.skip("needs RSMAP")
    job = job_of(sbatch(cluster, workdir, "-a", "1-2", "-w", "c1", "-G2", "-o", f"{workdir}/%a.txt", "--wrap",
                        "echo $CUDA_VISIBLE_DEVICES; sleep 3", conf=None))
    cluster.wait_job(job)
    assert sorted(cluster.read(f"{workdir}/{i}.txt") for i in (1, 2)) == ["0,1\n", "2,3\n"]


# --- whole hosts ---

def test_exclusive_keeps_others_out(cell, workdir):
    job = job_of(sbatch(cell, workdir, "--exclusive", "-w", "c1", "-o", f"{workdir}/whole", "--wrap",
                        "cat $PE_HOSTFILE; sleep 300"))
    other = None
    try:
        cell.wait_running(job)
        other = job_of(sbatch(cell, workdir, "-w", "c1", "-p", "plain.q", "--wrap", "true"))
        cell.on("head", ["sleep", "3"])
        assert cell.job_state(other) == "qw"
        assert cell.read(f"{workdir}/whole").split()[:2] == ["c1", "4"]
    finally:
        for number in filter(None, (job, other)):
            cell.on("head", ["qdel", number])
            cell.wait_job(number)


# --- features, licenses, disks ---

@pytest.mark.parametrize("features, host", [("two", "c2"), ("big&two", "c2"), ("two|three", "c2"), ("three", "c3"),
                                            ("big", "c1"), ("three|one", "c1"),
                                            ("big|three", "c1"), ("two|nobody", "c2")])
def test_features(cell, workdir, features, host):
    assert run(cell, workdir, "-C", features).startswith(f"HOST {host} ")


def test_features_that_are_not_there(cell, workdir):
    assert refused(cell, workdir, "-C", "nosuch").endswith(
        "sbatch: error: Batch job submission failed: Invalid feature specification\n")
    assert refused(cell, workdir, "-C", "big&three").endswith("Requested node configuration is not available\n")
    assert "no counts and groups of features" in refused(cell, workdir, "-C", "[big|three]")
    assert refused(cell, workdir, "-C", "big|nobody", "-w", "c3").endswith("configuration is not available\n")


def test_licenses_are_of_the_job(cell, workdir):
    job = job_of(sbatch(cell, workdir, "-N2", "-L", "t_lic:2", "--wrap", "sleep 300"))
    try:
        cell.wait_running(job)
        free = cell.on("head", ["qhost", "-F", "t_lic"], check=True).stdout
        assert re.search(r"^global .*\n\s+\S*gc:t_lic=1(\.0+)?$", free, re.M) or "t_lic=1" in free, free
    finally:
        cell.on("head", ["qdel", job], check=True)
        cell.wait_job(job)
    assert "no consumable named nosuch" in refused(cell, workdir, "-L", "nosuch")


def test_disk_space(cell, workdir):
    assert held(cell, workdir, "--tmp=2G", "-c2")["t_disk"] == "1024M"
    assert refused(cell, workdir, "--tmp=5G").startswith(
        "sbatch: error: Temporary disk specification can not be satisfied\n")


# --- parallel environments ---

def test_a_pe_that_no_queue_offers(cluster, workdir):
    """plain.q has the stock PEs only: on an engine with -par another one does, else the answer says how to add it."""
    result = sbatch(cluster, workdir, "-p", "plain.q", "-N2", "--ntasks-per-node=2", "-o", "out", "--wrap", SHOW,
                    conf=None)
    if result.returncode == 0:
        cluster.wait_job(job_of(result))
        assert slots(cluster.read(f"{workdir}/out")) == {"c1": 2, "c2": 2}
    else:
        assert result.stderr.count("\n") == 1
        assert result.stderr.endswith("qconf -aattr queue pe_list slurm-on-ocs.2 plain.q\n"), result.stderr
