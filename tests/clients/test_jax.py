# SPDX-License-Identifier: Apache-2.0
"""JAX (PyPI, CPU) over two hosts: jax.distributed.initialize() without arguments, which reads SLURM_* alone."""

import json
import re

JAX = ["jax==0.4.35", "jaxlib==0.4.35", "numpy==1.26.4", "scipy==1.13.1", "ml_dtypes==0.5.0", "opt_einsum==3.4.0"]

PROGRAM = """
import json, os
import jax
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize()
import jax.numpy as jnp
from jax.experimental import multihost_utils
gathered = multihost_utils.process_allgather(jnp.array([jax.process_index()]))
print(json.dumps({"rank": jax.process_index(), "size": jax.process_count(), "devices": jax.device_count(),
                  "local": jax.local_device_count(), "sum": int(gathered.sum()), "host": os.uname().nodename}), flush=True)
"""


def test_jax_finds_its_processes(cluster, workdir, from_pypi):
    cluster.write(f"{workdir}/program.py", PROGRAM)
    job = cluster.sbatch("#!/bin/bash\nsrun --kill-on-bad-exit=1 python3 program.py\n",
                         ["-N2", "--ntasks-per-node=2", "-o", "job.out", "-t10"], cwd=workdir, env={"PYTHONPATH": from_pypi(*JAX)})
    cluster.wait_job(job, timeout=150)
    output = cluster.read(f"{workdir}/job.out")
    said = sorted((json.loads(line) for line in re.findall(r'\{"rank".*\}', output)), key=lambda line: line["rank"])
    assert [(line["rank"], line["size"], line["devices"], line["local"], line["sum"]) for line in said] == [
        (rank, 4, 4, 1, 6) for rank in range(4)], output
    assert [line["host"] for line in said] == [host for host in cluster.exec_hosts[:2] for _ in range(2)]
