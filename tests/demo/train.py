# SPDX-License-Identifier: Apache-2.0
"""What a distributed training does at its core: the ranks find each other and add up a vector (all-reduce)."""

import os
import socket
import struct
import time

MEETING_TIMEOUT = 60  # seconds for all ranks to turn up
VECTOR = struct.Struct("!3d")


def receive(peer, size):
    data = b""
    while len(data) < size:
        chunk = peer.recv(size - len(data))
        if not chunk:
            raise ConnectionError("a rank went away")
        data += chunk
    return data


def connect(address):
    """Rank 0 may start later than we do, so a refused connection is tried again."""
    deadline = time.monotonic() + MEETING_TIMEOUT
    while True:
        try:
            return socket.create_connection(address, timeout=MEETING_TIMEOUT)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def collect_and_answer(address, ranks, vector):
    """Rank 0: the sum of everybody's vectors, sent to everybody."""
    with socket.create_server(address, backlog=ranks) as server:
        server.settimeout(MEETING_TIMEOUT)
        peers = [server.accept()[0] for _ in range(ranks - 1)]
    vectors = [vector] + [VECTOR.unpack(receive(peer, VECTOR.size)) for peer in peers]
    total = tuple(map(sum, zip(*vectors)))
    for peer in peers:
        peer.sendall(VECTOR.pack(*total))
        peer.close()
    return total


def send_and_learn(address, vector):
    with connect(address) as peer:
        peer.sendall(VECTOR.pack(*vector))
        return VECTOR.unpack(receive(peer, VECTOR.size))


def main():
    rank, ranks, local, node = (int(os.environ[f"SLURM_{name}"]) for name in ("PROCID", "NTASKS", "LOCALID", "NODEID"))
    address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    vector = (rank + 1, (rank + 1) ** 2, 1)
    total = collect_and_answer(address, ranks, vector) if rank == 0 else send_and_learn(address, vector)
    print(f"rank {rank} of {ranks} (local {local}, node {node}, host {socket.gethostname()}): "
          f"sum {' '.join(format(value, 'g') for value in total)}")


main()
