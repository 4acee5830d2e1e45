# SPDX-License-Identifier: Apache-2.0
"""What another user of the same hosts can get of a job, or do to it: nothing. bob has an account everywhere, no root."""

import base64
import json
import re
import textwrap
import time
import uuid

import pytest

AUTH_TIMEOUT = 2  # s; the site's setting for these jobs
CHALLENGE = 42    # bytes that a stranger gets: a header and a nonce (launcher/proto.h)
PORTS = range(61000, 61440)

# alice's job: one step that lasts until told, and new ones whenever they are asked for
SCRIPT = """#!/bin/bash
# {script}
srun --exact -N3 -n3 bash -c 'while [ ! -e stop ]; do sleep 0.05; done; echo through' >lasting.out 2>&1 &
while [ ! -e stop ]; do
    [ ! -e ask ] || {{ rm ask; srun --exact -N3 -n3 hostname >answer.new 2>&1; mv answer.new answer; }}
    sleep 0.05
done
wait $!
echo ended $?
"""

# Reads all that it may: files below the folders, what /proc and the engine tell. stdin: the folders, the words to look
# for (hex). stdout: where each was found.
HARVEST = textwrap.dedent(r"""
    import base64, json, os, re, stat, subprocess, sys
    ask = json.load(sys.stdin)
    words = {name: bytes.fromhex(word) for name, word in ask["words"].items()}
    found = {name: [] for name in words}
    def look(where, data):
        for coded in re.findall(rb"soo=([\w-]+)", data):  # the job context
            data += base64.urlsafe_b64decode(coded + b"=" * (-len(coded) % 4))
        for name, word in words.items():
            if word in data:
                found[name].append(where)
    def read(path):
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                return
            with open(path, "rb") as file:
                look(path, file.read(32 << 20))
        except OSError:
            pass
    for top in ask["folders"]:
        for folder, below, names in os.walk(top):
            look(folder, " ".join(below + names).encode("utf-8", "surrogateescape"))
            for name in names:
                read(os.path.join(folder, name))
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        for name in ("cmdline", "environ", "status", "maps", "mountinfo", "stack", "auxv", "mem"):
            read(f"/proc/{pid}/{name}")
        for name in ("cwd", "root/tmp", "fd"):
            try:
                for file in os.listdir(f"/proc/{pid}/{name}"):
                    if name != "root/tmp":
                        read(f"/proc/{pid}/{name}/{file}")
            except OSError:
                pass
    for command in ask["commands"]:
        result = subprocess.run(command, shell=True, capture_output=True, stdin=subprocess.DEVNULL)
        look(command, result.stdout + result.stderr)
    json.dump(found, sys.stdout)
""")


def harvest(cluster, host, words, job, user="bob"):
    """{word's name: places where user found it}."""
    state = cluster.state
    folders = ["/home", "/tmp", "/var/tmp", "/dev/shm", "/run", f"{state}/local", f"{state}/root/default", f"{state}/qmaster",
               f"{state}/spooldb", f"{state}/host"]
    commands = [f"qstat -j {job}", f"qstat -xml -j {job}", "qstat -u '*' -r -ext", f"qacct -j {job}", "ps -eww -o args",
                f"scontrol show job {job}", "squeue -o %all", "squeue -s", "ss -xlp"]
    ask = {"folders": folders, "commands": commands,
           "words": {name: (word if isinstance(word, bytes) else word.encode()).hex() for name, word in words.items()}}
    result = cluster.on(host, ["python3", "-c", HARVEST], user=user, stdin=json.dumps(ask), check=True)
    return json.loads(result.stdout)


def make_site(cluster, **settings):
    """A configuration file with these settings; it rides in the job, so only sbatch needs to see it."""
    path = f"/var/tmp/security-{uuid.uuid4().hex[:8]}.conf"
    lines = [f"{name} = {json.dumps(value)};\n" for name, value in settings.items()]
    cluster.write(path, "".join(lines))
    return {"SLURM_ON_OCS_CONF": path}


class Job:
    """alice's running job, with what must stay secret."""

    def __init__(self, cluster, folder):
        self.cluster, self.folder = cluster, folder
        self.secrets = {name: f"{name}-{uuid.uuid4().hex}" for name in ("environment", "script")}
        env = {"TOKEN": self.secrets["environment"], **make_site(cluster, auth_timeout=AUTH_TIMEOUT)}
        self.id = cluster.sbatch(SCRIPT.format(**self.secrets), ["-N3", "-n6", "-o", "job.out"],
                                 cwd=folder, env=env)
        cluster.wait_running(self.id)
        self.host = cluster.exec_hosts[0]
        cluster.wait_until(self.lasts, 30, lambda: f"the step doesn't start: {cluster.read(f'{folder}/lasting.out')}")
        self.dir = f"{cluster.state}/local/tmp/{self.id}.1.all.q"

    def lasts(self):
        """The step's rank is there on each host."""
        return all(any("bash -c while [ ! -e stop ]" in process.args for process in self.cluster.ps(host))
                   for host in self.cluster.exec_hosts)

    def listeners(self):
        """[(port, uid)] of this host, as anybody sees them."""
        text = self.cluster.on(self.host, "cat /proc/net/tcp /proc/net/tcp6", user="bob").stdout
        rows = [line.split() for line in text.splitlines() if " 0A " in line]
        return [(int(row[1].rpartition(":")[2], 16), int(row[7])) for row in rows]

    def ports(self):
        alice = self.cluster.outside(self.cluster.home()).stat().st_uid
        return sorted(port for port, uid in self.listeners() if uid == alice and port in PORTS)

    def new_step(self):
        """A further step over all hosts works."""
        self.cluster.write(f"{self.folder}/ask", "")
        answer = f"{self.folder}/answer"
        self.cluster.wait_until(lambda: self.cluster.exists(answer), 20, "a new step doesn't end")
        text = self.cluster.read(answer)
        self.cluster.outside(answer).unlink()
        assert sorted(text.split()) == self.cluster.exec_hosts, text

    def control_key(self):
        """hex"""
        (control,) = self.cluster.outside(self.cluster.home()).glob(f".slurm-on-ocs/*/by-id/{self.id}/control")
        return control.read_text().split()[3]

    def end(self):
        self.cluster.write(f"{self.folder}/stop", "")
        self.cluster.wait_job(self.id)
        assert self.cluster.read(f"{self.folder}/lasting.out") == "through\n" * 3
        assert self.cluster.read(f"{self.folder}/job.out") == "ended 0\n"


@pytest.fixture(scope="module", autouse=True)
def home_is_open(cluster):
    """As on many sites: everybody may look into alice's home. What is private there is by its own mode."""
    home = cluster.outside(cluster.home())
    mode = home.stat().st_mode & 0o7777
    home.chmod(0o755)
    yield
    home.chmod(mode)


@pytest.fixture(scope="module")
def job(cluster, home_is_open):
    folder = f"{cluster.home()}/security-{uuid.uuid4().hex[:8]}"
    cluster.mkdir(folder, mode=0o700)
    running = Job(cluster, folder)
    yield running
    running.end()


@pytest.fixture(autouse=True)
def unharmed(request):
    """Whatever was done: the step goes on, and a new one starts."""
    yield
    if "job" in request.fixturenames:
        running = request.getfixturevalue("job")
        assert running.lasts(), f"ranks are gone: {running.cluster.read(f'{running.folder}/lasting.out')}"
        running.new_step()


# --- reading ---

def test_another_user_finds_no_secret_of_a_running_job(cluster, job):
    key = job.control_key()
    words = {**job.secrets, "key": key, "raw key": bytes.fromhex(key), "known": f"job_number:                 {job.id}"}
    for host in cluster.hosts:
        found = harvest(cluster, host, words, job.id)
        assert found.pop("known"), "the search itself finds nothing"
        assert not any(found.values()), (host, found)
    found = harvest(cluster, job.host, words, job.id, user="alice")
    del found["raw key"]  # it is in memory only
    assert all(found.values()), ("the search finds less than is there", found)


def test_another_user_finds_no_arguments(cluster, workdir):
    """Of a job that waits, and of one that has ended, in accounting and records; of the script, and of a step."""
    cluster.give(workdir, mode=0o700)
    words = {"argument": f"argument-{uuid.uuid4().hex}", "step": f"step-{uuid.uuid4().hex}", "script": uuid.uuid4().hex}
    cluster.write(f"{workdir}/s.sh", f"#!/bin/bash\n# {words['script']}\nsrun -N1 -n1 true {words['step']}\n", mode=0o700)
    result = cluster.on("head", ["sbatch", "--parsable", "-H", "-N2", "s.sh", words["argument"]], cwd=workdir, check=True)
    number = int(result.stdout)
    try:
        waiting = [harvest(cluster, host, words, number) for host in ("head", "c1")]
        assert harvest(cluster, "head", words, number, user="alice")["argument"], "the search itself finds nothing"
        shown = {user: cluster.on("head", ["scontrol", "show", "job", str(number)], user=user).stdout for user in ("alice", "bob")}
        assert f"Command={workdir}/s.sh {words['argument']}\n" in shown["alice"] and f"Command={workdir}/s.sh\n" in shown["bob"]
    except BaseException:
        cluster.on("head", ["scancel", str(number)])
        raise
    cluster.on("head", ["scontrol", "release", str(number)], check=True)
    cluster.wait_job(number)
    cluster.qacct(number)
    for found in (*waiting, harvest(cluster, "head", words, number), harvest(cluster, "c1", words, number)):
        assert not any(found.values()), found


# --- the Unix sockets ---

CONNECT = textwrap.dedent(r"""
    import json, os, socket, sys
    answers = []
    for path in sys.argv[1:]:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(5)
        try:
            s.connect(path)
            s.sendall(bytes([62, 0, 0, 0, 0, 0, 0, 0, 0, 0]))  # CTL_PING
            answers.append(s.recv(4096).hex())
        except OSError as error:
            answers.append(type(error).__name__)
    print(json.dumps(answers))
""")


def connect_unix(cluster, host, paths, user):
    return json.loads(cluster.on(host, ["python3", "-c", CONNECT, *paths], user=user, check=True).stdout)


def test_unix_sockets_are_closed_to_others(cluster, job):
    """By the folder's mode; and where that is lost, by who the kernel says is calling."""
    names = cluster.on(job.host, ["ls", f"{job.dir}/slurm-on-ocs"], user="alice", check=True).stdout.split()
    sockets = [f"{job.dir}/slurm-on-ocs/{name}" for name in names if name == "ctl" or re.fullmatch(r"s\.\d+", name)]
    assert len(sockets) == 2, names
    assert connect_unix(cluster, job.host, sockets, "bob") == ["PermissionError"] * 2
    folder = f"{job.dir}/slurm-on-ocs"
    cluster.on(job.host, f"chmod 755 {folder}; chmod 666 {' '.join(sockets)}", user="root", check=True)
    try:
        answers = connect_unix(cluster, job.host, sockets, "bob")
    finally:
        cluster.on(job.host, f"chmod 600 {' '.join(sockets)}; chmod 700 {folder}", user="root", check=True)
    assert set(answers) <= {"", "ConnectionResetError", "BrokenPipeError"}, answers


# --- the ports ---

# A stranger: stdin [[host, port], ...], what to send (hex) and how; stdout: per connection, what came and after how long
# the end came. "again": until then each that was dropped calls again.
STRANGER = textwrap.dedent(r"""
    import json, resource, selectors, socket, sys, time
    ask = json.load(sys.stdin)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    selector, callers, begin = selectors.DefaultSelector(), [], time.monotonic()
    for host, port, data in ask["calls"]:
        s = socket.create_connection((host, port), 10)
        s.setblocking(False)
        caller = {"socket": s, "address": (host, port), "left": bytes.fromhex(data), "got": b"", "end": None,
                  "start": time.monotonic()}
        if caller["left"] and not ask["drip"]:
            try:
                s.send(caller["left"])
            except OSError:
                pass
        callers.append(caller)
        selector.register(s, selectors.EVENT_READ, caller)
    drip = time.monotonic()
    while selector.get_map() and time.monotonic() - begin < ask["wait"]:
        for key, _ in selector.select(0.1):
            caller = key.data
            try:
                data = caller["socket"].recv(65536)
            except OSError:
                data = b""
            caller["got"] += data
            if not data:
                caller["end"] = time.monotonic() - caller["start"]
                selector.unregister(caller["socket"])
                if ask["again"] and time.monotonic() - begin < ask["again"]:
                    caller["socket"].close()
                    caller["socket"] = socket.create_connection(caller["address"], 10)
                    caller["socket"].setblocking(False)
                    caller["got"], caller["start"] = b"", time.monotonic()
                    selector.register(caller["socket"], selectors.EVENT_READ, caller)
        if ask["drip"] and time.monotonic() - drip > 0.2:
            drip = time.monotonic()
            for caller in callers:
                try:
                    caller["socket"].send(caller["left"][:1])
                    caller["left"] = caller["left"][1:]
                except OSError:
                    pass
    json.dump([[c["got"].hex(), c["end"]] for c in callers], sys.stdout)
""")


def call(cluster, from_host, calls, wait=AUTH_TIMEOUT + 4, drip=False):
    """bob makes the calls [(host, port, bytes)] at once; [(bytes that he got, s until he was dropped or None)]."""
    ask = {"calls": [(host, port, data.hex()) for host, port, data in calls], "wait": wait, "drip": drip, "again": 0}
    result = cluster.on(from_host, ["python3", "-c", STRANGER], user="bob", stdin=json.dumps(ask), check=True)
    return [(bytes.fromhex(got), end) for got, end in json.loads(result.stdout)]


def learns_nothing(answers, within=AUTH_TIMEOUT + 2):
    """A challenge at most, each one another, and the end in time."""
    nonces = [got for got, _ in answers if got]
    assert all(len(got) == CHALLENGE and got[:2] == b"\x01\x00" for got in nonces), {len(got) for got in nonces}
    assert len(set(nonces)) == len(nonces), "a nonce came twice"
    assert all(end is not None and end < within for _, end in answers), answers


def hello(kind, number, host, version=1, sealed=1):
    """A well-formed one, whose proof is made with no key of the job's."""
    body = version.to_bytes(2, "big") + bytes([kind, sealed]) + number.to_bytes(4, "big") + host.to_bytes(4, "big")
    body += bytes(range(32)) + bytes(24) + bytes(range(100, 132))
    return frame(2, body)


def frame(kind, body, length=None):
    return bytes([kind, 0]) + (0).to_bytes(4, "big") + (len(body) if length is None else length).to_bytes(4, "big") + body


def test_only_these_two_ports_listen(job):
    """The supervisor's and srun's, the latter for as long as the step lasts."""
    assert len(job.ports()) == 2


MESSAGES = {
    "nothing": [b""],
    "garbage": [bytes(range(256)) * 16, b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"\0" * 100000, b"\xff" * 100],
    "lengths": [frame(2, b"", 0xffffffff), frame(4, b"", 1 << 20), frame(2, b"x" * 128), frame(2, b"x" * 107), frame(2, b"")],
    "out of turn": [frame(kind, b"") for kind in (1, 3, 4, 5, 10, 12, 15, 30, 40, 43, 60, 61, 62, 255)],
    "wrong token": [hello(kind, number, host) for kind in (0, 1, 2, 3, 9) for number in (0, 1)
                    for host in (0, 1, 2, 3, 4294967295)],
    "other version": [hello(2, 0, 1, version=2), hello(2, 0, 1, sealed=0)],
}


@pytest.mark.parametrize("what", MESSAGES)
@pytest.mark.parametrize("where", ["its own host", "another host"])
def test_a_stranger_on_the_ports_learns_nothing(cluster, job, what, where):
    from_host = job.host if where == "its own host" else cluster.exec_hosts[1]
    calls = [(job.host, port, data) for port in job.ports() for data in MESSAGES[what]]
    learns_nothing(call(cluster, from_host, calls))


def test_bytes_that_drip_win_no_time(cluster, job):
    """The time to prove oneself is one for all, not one a byte."""
    answers = call(cluster, cluster.exec_hosts[1], [(job.host, port, hello(2, 0, 1)) for port in job.ports()], drip=True)
    learns_nothing(answers)
    assert all(got for got, _ in answers)


def test_two_thousand_connections_keep_nobody_out(cluster, job):
    """Each calls again as soon as it is dropped, while new steps start."""
    ask = {"calls": [(job.host, port, "") for port in job.ports() for _ in range(1000)], "wait": 20, "drip": False, "again": 12}
    flood = cluster.start(cluster.exec_hosts[1], ["python3", "-c", STRANGER], user="bob", stdin=-1)
    flood.stdin.write(json.dumps(ask))
    flood.stdin.close()
    job.new_step()
    job.new_step()
    answers = [(bytes.fromhex(got), end) for got, end in json.loads(flood.stdout.read())]
    flood.stdout.close()
    flood.stderr.close()
    assert flood.wait(30) == 0 and len(answers) == 2000
    learns_nothing(answers, within=20)


# Everything that goes through the host's interfaces, for a while: {"a:port>b:port": hex}.
SNIFF = textwrap.dedent(r"""
    import json, os, select, socket, struct, sys
    s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    print("ready", flush=True)
    streams = {}
    while True:
        readable = select.select([s, sys.stdin], [], [])[0]
        if s not in readable:
            break
        packet, (_, protocol, *_rest) = s.recvfrom(65535)
        if protocol != 0x0800 or packet[9] != 6:
            continue
        tcp = packet[(packet[0] & 15) * 4:struct.unpack("!H", packet[2:4])[0]]
        ports = struct.unpack("!HH", tcp[:4])
        key = "%s:%d>%s:%d" % (socket.inet_ntoa(packet[12:16]), ports[0], socket.inet_ntoa(packet[16:20]), ports[1])
        data = tcp[(tcp[12] >> 4) * 4:]
        if data:
            streams[key] = streams.get(key, "") + data.hex()
    json.dump(streams, sys.stdout)
""")


class Wire:
    """What root on another host of the job sees of its own network."""

    def __init__(self, cluster, host):
        self.process = cluster.start(host, ["python3", "-c", SNIFF], user="root", stdin=-1)
        assert self.process.stdout.readline() == "ready\n"

    def streams(self):
        """{(port it came from, port it went to): bytes} of the connections to our ports."""
        out, _ = self.process.communicate("end", 30)
        found = {}
        for key, data in json.loads(out).items():
            ports = tuple(int(port) for port in re.findall(r":(\d+)", key))
            if ports[0] in PORTS or ports[1] in PORTS:
                found[ports] = bytes.fromhex(data)
        return found


def test_what_was_said_before_opens_nothing(cluster, job):
    """A step's whole conversation is played back to its port, to the supervisor's, and frame by frame."""
    wire = Wire(cluster, cluster.exec_hosts[1])
    job.new_step()
    said = [data for (_, to), data in wire.streams().items() if to in PORTS]
    hellos = [data for data in said if data[:1] == b"\x02"]
    assert hellos, "no HELLO was caught"
    calls = [(job.host, port, data) for port in job.ports() for data in (*said, *(data[:118] for data in hellos))]
    learns_nothing(call(cluster, cluster.exec_hosts[1], calls))


def test_the_wire_shows_nothing(cluster, workdir):
    """Environment, arguments, input and output of ranks on another host, as its network sees them."""
    secrets = {name: f"{name}-{uuid.uuid4().hex}" for name in ("environment", "argument", "input", "output")}
    script = (f"#!/bin/bash\nexport TOKEN={secrets['environment']}\nsrun -N2 -n2 true\ntouch ready\n"
              "while [ ! -e go ]; do sleep 0.05; done\n"
              f"echo {secrets['input']} | srun -N2 -n2 bash -c 'cat; echo $0 | cut -c1-9; echo ${{TOKEN:0:11}}; "
              f"printf output-%s\\\\n {secrets['output'][7:]}' {secrets['argument']}\n")
    number = cluster.sbatch(script, ["-N2", "-o", "job.out"], cwd=workdir)
    cluster.wait_until(lambda: cluster.exists(f"{workdir}/ready"), 30, "the job doesn't start")
    wire = Wire(cluster, cluster.exec_hosts[1])
    cluster.write(f"{workdir}/go", "")
    cluster.wait_job(number)
    streams = wire.streams()
    output = cluster.read(f"{workdir}/job.out")
    lines = [secrets["input"], "argument-", "environment", secrets["output"]]
    assert sorted(output.splitlines()) == sorted(2 * lines), output
    assert sum(map(len, streams.values())) > 1000, "nothing was caught"
    for name, secret in secrets.items():
        assert not any(secret.encode() in data for data in streams.values()), name


# --- folders that bob has laid in the way ---

def spool_problem(cluster, workdir, place):
    before = cluster.on("head", ["qstat", "-u", "*"]).stdout
    result = cluster.on("head", ["sbatch", "--wrap", "true"], cwd=workdir, env=make_site(cluster, spool_dir=place))
    assert cluster.on("head", ["qstat", "-u", "*"]).stdout == before
    assert (result.returncode, result.stdout) == (1, "") and result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("sbatch: error: ") and place in result.stderr
    return result.stderr


@pytest.mark.parametrize("plant", [
    "mkdir $P",                                            # his own folder
    "mkdir $P.bob; chmod 777 $P.bob; ln -s $P.bob $P",     # a link to it
    "ln -s /home/alice $P",                                # a link to one of alice's
    "mkfifo $P; chmod 666 $P", "touch $P",
    "mkdir $P; chmod 777 $P; mkdir -m 777 $P/$CLUSTER",
])
def test_a_spool_folder_of_somebody_else_is_refused(cluster, workdir, plant):
    place = f"/var/tmp/planted-{uuid.uuid4().hex[:8]}"
    cluster.on("head", f"P={place}; CLUSTER={cluster.name}; {plant}", user="bob", check=True)
    try:
        spool_problem(cluster, workdir, place)
        inside = cluster.on("head", f"find {place}* -type f -o -mindepth 2", user="root").stdout
        assert inside.split() in ([], [place], [f"{place}/{cluster.name}"]), "something was left there"
    finally:
        cluster.on("head", f"rm -rf {place} {place}.bob", user="root", check=True)


def test_a_spool_folder_open_to_others_is_refused(cluster, workdir):
    place = f"{workdir}/spool"
    cluster.mkdir(place, mode=0o777)
    spool_problem(cluster, workdir, place)


@pytest.mark.parametrize("plant", [
    "mkdir -m 777 $T", "mkdir -p $T/slurm-on-ocs; chmod -R 777 $T", "mkdir $T $T.bob; ln -s $T.bob $T/slurm-on-ocs",
    "mkdir -m 777 $T.bob; ln -s $T.bob $T",
])
def test_a_job_folder_of_somebody_else_is_not_used(cluster, workdir, plant):
    """bob guesses the next job's number and has made its folder before the engine, which gives that to alice then."""
    number = cluster.sbatch("#!/bin/sh\n", ["-H"], cwd=workdir) + 1
    tmp = f"{cluster.state}/local/tmp/{number}.1.all.q"
    for host in cluster.exec_hosts:
        cluster.on(host, f"T={tmp}; {plant}", user="bob", check=True)
    try:
        job = cluster.sbatch("#!/bin/bash\nsrun -N3 -n3 sh -c 'stat -Lc \"%U %a\" $SOO_JOB_DIR; echo $SOO_JOB_DIR >&2'\n",
                             ["-N3", "-o", "job.out", "-e", "job.err"], cwd=workdir)
        assert job == number
        cluster.wait_job(job)
        left = "".join(cluster.on(host, f"find {tmp}* -mindepth 1 -user alice 2>/dev/null", user="root").stdout
                       for host in cluster.exec_hosts)
        assert left == "", "something of alice's lies in bob's folders"
        assert cluster.read(f"{workdir}/job.out") == "alice 700\n" * 3
        assert all(path.startswith("/tmp/slurm-on-ocs-") for path in cluster.read(f"{workdir}/job.err").split())
        for host in cluster.exec_hosts:
            assert cluster.on(host, "ls -d /tmp/slurm-on-ocs-*", user="root").stdout == ""
    finally:
        cluster.on("head", ["scancel", str(number - 1), str(number)])
        for host in cluster.exec_hosts:
            cluster.on(host, f"rm -rf {tmp}*", user="root")


@pytest.mark.parametrize("plant", ["mkdir -m 777 $A", "ln -s /tmp $A", "ln -s ~alice $A", "mkfifo $A; chmod 666 $A"])
def test_a_records_folder_of_somebody_else_is_ignored(cluster, workdir, plant):
    """bob makes the folder with alice's number before her, and puts records of her jobs there."""
    uid = cluster.outside(cluster.home()).stat().st_uid
    folder = f"{cluster.state}/root/default/common/slurm-on-ocs/acct/{uid}"
    cluster.on("head", f"if [ -e {folder} ]; then mv {folder} {folder}.kept; fi", user="root", check=True)
    try:
        cluster.on("head", f"A={folder}; {plant}", user="bob", check=True)
        job = cluster.sbatch("#!/bin/bash\nsrun -N2 -n2 hostname\nwhile [ ! -e go ]; do sleep 0.05; done\nexit 3\n",
                             ["-N2", "-J", "honest", "-o", "job.out"], cwd=workdir)
        forged = {"v": 1, "event": "submit", "time": 1, "job": job, "task": 0, "restart": 0, "name": "forged", "user": "alice",
                  "uid": uid, "work_dir": "/forged", "command": "/forged"}
        cluster.on("head", f"cat >{folder}/{job}.head.jsonl", user="bob", stdin=json.dumps(forged) + "\n")
        cluster.wait_running(job)
        for user in ("alice", "bob"):
            seen = cluster.on("head", f"squeue -o %all; scontrol show job {job}", user=user, check=True).stdout
            assert "honest" in seen and "forged" not in seen, seen
        cluster.write(f"{workdir}/go", "")
        cluster.wait_job(job)
        assert sorted(cluster.read(f"{workdir}/job.out").split()) == ["c1", "c2"]
        assert "honest" in cluster.on("head", f"squeue -h -t all -j {job} -o '%j %T'", check=True).stdout
        planted = cluster.on("head", f"find {folder}/ -maxdepth 1 -user alice -name '{job}.*'", user="root").stdout
        assert planted == "", "alice's records lie in bob's folder"
        assert cluster.qacct(job)[0]["owner"] == "alice"
    finally:
        cluster.on("head", f"rm -rf {folder}; if [ -e {folder}.kept ]; then mv {folder}.kept {folder}; fi; "
                           f"rm -f /tmp/[0-9]*.jsonl", user="root", check=True)


def test_records_that_bob_wrote_are_bobs(cluster, workdir):
    """He may put into his own folder what he likes: alice's job stays hers, and nothing of his shows her name."""
    job = cluster.sbatch("#!/bin/sh\n", ["-J", "honest"], cwd=workdir)
    cluster.wait_job(job)
    acct = f"{cluster.state}/root/default/common/slurm-on-ocs/acct"
    uid = cluster.outside(cluster.home("bob")).stat().st_uid
    for number in (job, 7654321):
        base = {"v": 1, "job": number, "task": 0, "restart": 0}
        now = time.time()
        lines = [{**base, "event": "submit", "time": now, "name": "forged", "user": "alice", "uid": 5001},
                 {**base, "event": "start", "time": now, "host": "c1", "nodes": ["c1"]},
                 {**base, "event": "end", "time": now + 1, "state": "FAILED", "code": 9}]
        cluster.on("head", f"mkdir -p {acct}/{uid}; cat >{acct}/{uid}/{number}.head.jsonl", user="bob", check=True,
                   stdin="".join(json.dumps(line) + "\n" for line in lines))
    try:
        home = cluster.home()
        shown = {words: cluster.on("head", words, cwd=home).stdout for words in (
            f"sacct -nXPj {job} -o jobname,state,user", f"squeue -h -t all -j {job} -u alice -o '%j %T %u'",
            "sacct -anXP -o jobname,user", "squeue -h -t all -o '%j,%u'")}
        assert shown[f"sacct -nXPj {job} -o jobname,state,user"] == "honest|COMPLETED|alice\n"
        assert shown[f"squeue -h -t all -j {job} -u alice -o '%j %T %u'"] == "honest COMPLETED alice\n"
        everything = "".join(shown.values())
        assert "forged|nobody" in everything and "forged|alice" not in everything and "forged,alice" not in everything
    finally:
        cluster.on("head", f"rm -f {acct}/{uid}/{job}.head.jsonl {acct}/{uid}/7654321.head.jsonl", user="bob")


def test_a_context_says_nothing_private(cluster, job):
    """What everybody reads of the request in the engine's record: names and numbers."""
    text = cluster.on("head", ["qstat", "-j", str(job.id)], user="bob").stdout
    (coded,) = re.findall(r"soo=([\w-]+)", text)
    context = json.loads(base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4)))
    assert context.keys() <= {"v", "name", "nodes", "ntasks", "ntasks_per_node", "cpus_per_task", "time_limit", "partition",
                              "account", "qos", "comment", "array", "spool"}, context
