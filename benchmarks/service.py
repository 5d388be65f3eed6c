"""How fast a running service answers, and whether its memory stays flat.

    python benchmarks/service.py MODEL [--requests 2000] [--soak 50000]

Starts ``attending serve`` on a Unix socket and asks it for one message of the bundled corpus at a
time, with 1, 8 and 32 clients that each keep a connection and ask again once they are answered.
The clients run on the same machine and take their share of it. Every answer is in the audit, on
disk, before it is sent. The soak then sends many more requests and reads the resident memory of
the service each tenth of the way, the first of which counts as warming up.
"""

import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from attending.data.corpora import load_corpus

CLIENTS = (1, 8, 32)


class Connection(http.client.HTTPConnection):
    """A connection over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=120)
        self._path = path

    def connect(self) -> None:
        """Open the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self._path))


def ask(connection: Connection, body: bytes) -> None:
    """Send one request and read its answer."""
    connection.request("POST", "/v1/predict", body, {"Content-Type": "application/json"})
    answered = connection.getresponse()
    answered.read()
    if answered.status != 200:
        raise RuntimeError(f"status {answered.status}")


@contextmanager
def service(model: str, threads: int | None) -> Iterator[tuple[Path, int]]:
    """Run a service; gives its socket and its process."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "s"
        words = ["serve", model, "--socket", str(at), "--data", folder, "--no-inbox", "--quiet"]
        more = {"ATTENDING_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        process = subprocess.Popen(
            [sys.executable, "-m", "attending", *words],
            stderr=subprocess.DEVNULL,
            env=None if threads is None else os.environ | more,
        )
        try:
            until = time.monotonic() + 120
            while True:
                try:
                    ask(Connection(at), b'{"texts": ["cough"]}')
                    break
                except OSError:
                    if time.monotonic() > until or process.poll() is not None:
                        raise
                    time.sleep(0.1)
            yield at, process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def storm(at: Path, bodies: list[bytes], clients: int, requests: int) -> tuple[float, np.ndarray]:
    """Send requests from several clients; return requests a second and seconds of each."""
    left = iter(range(requests))
    taken: list[float] = []

    def client() -> None:
        connection = Connection(at)
        for i in left:
            began = time.perf_counter()
            ask(connection, bodies[i % len(bodies)])
            taken.append(time.perf_counter() - began)
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return requests / (time.perf_counter() - began), np.array(taken)


def resident(pid: int) -> float:
    """Return the resident memory of a process, in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no memory is told")


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--soak", type=int, default=0)
    parser.add_argument("--threads", type=int, default=None)
    given = parser.parse_args()
    texts = [d.text for d in load_corpus("portal").documents]
    bodies = [json.dumps({"texts": [text]}).encode() for text in texts]
    found: dict[str, object] = {"model": given.model, "clients": {}}
    with service(given.model, given.threads) as (at, pid):
        storm(at, bodies, 8, 200)
        for clients in CLIENTS:
            rate, taken = storm(at, bodies, clients, given.requests)
            p50, p99 = (np.percentile(taken, [50, 99]) * 1000).tolist()
            line = {"per_second": round(rate, 1), "p50_ms": round(p50, 2), "p99_ms": round(p99, 2)}
            found["clients"][clients] = line  # type: ignore[index]
            print(clients, "clients", line, file=sys.stderr, flush=True)
        if given.soak:
            memory = []
            for _ in range(10):
                storm(at, bodies, 8, given.soak // 10)
                memory.append(round(resident(pid), 1))
                print("MiB", memory[-1], file=sys.stderr, flush=True)
            found["soak"] = {
                "requests": given.soak,
                "mib": memory,
                "growth_percent": round(100 * (memory[-1] / memory[0] - 1), 2),
            }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
