# SPDX-License-Identifier: Apache-2.0
"""sbatch against what Slurm 22.05 answered: exit code, both streams, and what became of the job's fields.

sbatch/*.jsonl are Slurm's cases, "effect" being `scontrol show job`'s fields; "@" stands for the job's number and
/lab/work/B for the working folder. The engine is a fake (tests/fake), with the lab's four hosts of eight CPUs.

Three things may differ, and nothing else:
* an option whose fate is REFUSED: exit 1 and the one line that its row says (docs/support.md lists it);
* the warning line of an option whose fate is IGNORED or APPROXIMATED, beside the rest being equal;
* the cases that sbatch/differences.tsv names, with the reason: they must differ, or the list is out of date.
"""

import json
import os
import pathlib
import re
import subprocess

import pytest

from tests.fake.engine import BUILD, INFINITE, UNSET, FakeEngine, context, read_job_file

HERE = pathlib.Path(__file__).with_name("sbatch")
LAB = "/lab/work/B"
WARNING = re.compile(r"^sbatch: Warning: \S+ is (ignored|done approximately): .*\n", re.M)


def load():
    groups = {}
    for file in sorted(HERE.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").rstrip("\n").split("\n"):
            case = json.loads(line)
            key = file.stem if file.stem != "values" else f"values {case['name'].split(' ')[0]}"
            groups.setdefault(key, []).append(case)
    return groups


def load_differences():
    """case id -> reason"""
    reasons = {}
    for line in (HERE / "differences.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            _, ids, reason = line.split("\t")
            for case in ids.split(" "):
                assert case not in reasons, f"{case} is there twice"
                reasons[case] = reason
    return reasons


GROUPS = load()
DIFFERENCES = load_differences()


def read_rows():
    done = subprocess.run([BUILD / "translate", "--rows", "sbatch"], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {row[1]: {"fate": row[6], "note": row[9], "key": row[2]} for row in rows}


@pytest.fixture(scope="module")
def rows():
    return read_rows()


def as_time(seconds):
    if seconds == INFINITE:
        return "UNLIMITED"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return (f"{days}-" if days else "") + f"{hours:02}:{minutes:02}:{rest:02}"


def word_after(words, option):
    return words[words.index(option) + 1] if option in words else None


def hosts_asked(job, words):
    """NumNodes as scontrol has it: a range where --nodes was given, else what the slots come to."""
    pe, hosts = word_after(words, "-pe"), 1
    slots = words[words.index("-pe") + 2] if pe else ""
    if pe and slots.isdigit():
        per_host = 8 if pe.endswith(".fill") else int(pe.rsplit(".", 1)[1])
        hosts = -(-int(slots) // per_host)
    if job["min_nodes"] == UNSET:
        return str(hosts)
    return f"{hosts}-{hosts}" if not pe or slots.isdigit() else f"{job['min_nodes']}-{job['max_nodes']}"


def path_shown(pattern, default, job):
    path = (pattern if pattern is not None else default)
    path = path.replace("%A", "@").replace("%j", "@").replace("%a", "4294967294").replace("%u", "bob")
    return path if path.startswith("/") else f"{job['work_dir']}/{path}"


def effect(result, folder):
    """What scontrol would show, of what the job got here."""
    spool = result.spools[0]
    job, words, public = read_job_file(spool / "job"), result.calls[-1], context(spool)
    default = "slurm-%A_%a.out" if job["array_index"] else "slurm-%j.out"
    out = path_shown(job["std_out"], default, job)
    shown = {
        "JobName": job["name"],
        "NumNodes": hosts_asked(job, words),
        "NumTasks": str(public["ntasks"]),
        "CPUs/Task": "1" if job["cpus_per_task"] == UNSET else str(job["cpus_per_task"]),
        "NtasksPerN": "0" if job["ntasks_per_node"] == UNSET else str(job["ntasks_per_node"]),
        "TimeLimit": as_time(job["time_limit"]),
        "Nice": str(-int(word_after(words, "-p") or 0)),
        "Requeue": "0" if word_after(words, "-r") == "n" else "1",
        "Partition": job["partition"] or "cpu",
        "Account": job["account"] or "proj",
        "StdIn": path_shown(job["std_in"], "/dev/null", job),
        "StdOut": out,
        "StdErr": out if job["std_err"] is None else path_shown(job["std_err"], "", job),
        "WorkDir": job["work_dir"],
        "Command": job["command"] or "(null)",
    }
    if job["array_index"]:
        shown["ArrayTaskId"] = public["array"]
    if job["comment"] is not None:
        shown["Comment"] = job["comment"]
    assert public["name"] == job["name"]
    return {key: value.replace(str(folder), LAB) for key, value in shown.items()}


def expand_array(text):
    """The set of indexes of an ArrayTaskId, and its limit: scontrol shows ranges in more than one way."""
    text, _, limit = text.partition("%")
    indexes = set()
    for item in text.split(","):
        first, _, last = item.partition("-")
        indexes |= set(range(int(first), int(last or first) + 1))
    return indexes, limit


def ends_of(case):
    """{task: (code, signal)} of the scripts that sbatch --wait waits for here."""
    words = case["argv"]
    script = words[words.index("--wrap") + 1] if "--wrap" in words else ""
    for text, signo in (("kill -9 $$", 9), ("kill -TERM $$", 15)):
        if script == text:
            return {0: (0, signo)}
    if script == "exit $SLURM_ARRAY_TASK_ID":
        return {task: (task - 1, 0) for task in range(1, 5)}
    return {0: (int(script.split()[1]) if script.startswith("exit") else 0, 0)}


def compare_effect(want, got):
    differ = []
    for key in sorted(set(want) | set(got)):
        a, b = want.get(key), got.get(key)
        if key == "ArrayTaskId" and a and b:
            a, b = expand_array(a), expand_array(b)
        # Slurm without -N shows one number where the controller has chosen
        if key == "TimeLimit" and want.get("Partition", "").startswith("gpu") and a == "01:00:00":
            continue  # the lab's partition has a default limit
        if a != b:
            differ.append(f"{key}: {a!r} became {b!r}")
    return differ


def refused(case, result, rows):
    """The row's own line: what REFUSED promises."""
    match = re.fullmatch(r"sbatch: error: (\S+)(?: \(--(\S+)\))?: (.*)\n", result.stderr)
    if result.rc != 1 or not match or result.stdout or result.calls or result.spools:
        return False
    spelled, named, note = match.groups()
    name = named or spelled.lstrip("-")
    row = rows.get(name) or next((r for r in rows.values() if r["key"] == name), None)
    return bool(row) and row["fate"] == "REFUSED" and row["note"] == note


def differs(case, engine, rows):
    """None, or how the answer differs from Slurm's."""
    for name, key in (("script.sh", "script"),):
        if key in case:
            (engine.cwd / name).write_text(case[key], encoding="utf-8", errors="surrogateescape", newline="")
    engine.will_end(ends_of(case))
    argv = [word.replace(LAB, str(engine.cwd)) for word in case["argv"]]
    result = engine.run(argv, env=case.get("env"), stdin=case.get("stdin") or "")
    if refused(case, result, rows):
        return None
    stderr = WARNING.sub("", result.stderr).replace(str(engine.cwd), LAB)
    stdout = re.sub(r"\b17\b", "@", result.stdout)
    wrong = []
    for name, want, got in (("rc", case["rc"], result.rc), ("stdout", case["stdout"], stdout),
                            ("stderr", case["stderr"], stderr)):
        if want != got:
            wrong.append(f"{name}: {want!r} became {got!r}"[:400])
    if result.rc and result.spools and not result.stdout:  # (--wait ends with the code of a job that there was)
        wrong.append(f"rc {result.rc}, but something is left: {result.spools}")
    if not wrong and case.get("effect") and result.spools:
        wrong = compare_effect(case["effect"], effect(result, engine.cwd))
    return "; ".join(wrong) or None


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_as_slurm(group, tmp_path, rows):
    wrong = []
    for number, case in enumerate(GROUPS[group]):
        folder = tmp_path / str(number)
        folder.mkdir()
        engine = FakeEngine(folder)
        if group == "not_held" or "--test-only" in case["argv"]:
            (engine.log / "verify").touch()
        if "/etc/shadow" in case["argv"] and os.access("/etc/shadow", os.R_OK):
            continue  # as root there is no file that can't be read
        how = differs(case, engine, rows)
        if how and case["id"] not in DIFFERENCES:
            wrong.append(f"{case['id']} {case['name']} {case['argv']} {case.get('env', '')}\n    {how}")
        if not how and case["id"] in DIFFERENCES:
            wrong.append(f"{case['id']} is in differences.tsv, and doesn't differ")
    assert not wrong, f"{len(wrong)} of {len(GROUPS[group])} differ\n" + "\n".join(wrong)


def test_the_cases_are_all_there():
    assert sum(map(len, GROUPS.values())) >= 840
    known = {case["id"] for cases in GROUPS.values() for case in cases}
    assert set(DIFFERENCES) <= known
