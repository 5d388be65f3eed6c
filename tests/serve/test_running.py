"""A real process on a Unix socket: many at its start, its stop, and its end by force."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from attending.serve.audit import entries, verify

pytestmark = pytest.mark.slow


class Connection(http.client.HTTPConnection):
    """An HTTP connection over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self.path))


class Service:
    """``attending serve`` in a process of its own."""

    def __init__(self, model, folder, *more):
        self.socket, self.data = folder / "s", folder / "data"
        words = ["serve", str(model), "--socket", str(self.socket), "--data", str(self.data), *more]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "attending", *words], stderr=subprocess.PIPE, text=True
        )
        self.said = []
        self._reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr))
        self._reader.start()

    def listening(self):
        """Wait until it listens, which is before its model is loaded."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                self.get("/v1/health")
                return self
            except OSError:
                assert self.process.poll() is None, self.said
                time.sleep(0.01)
        raise AssertionError("it never listened")

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, body):
        return self.ask("POST", path, json.dumps(body), {"Content-Type": "application/json"})

    def ask(self, method, path, body=None, headers=None):
        connection = Connection(self.socket)
        try:
            connection.request(method, path, body, headers or {})
            answered = connection.getresponse()
            return answered.status, json.loads(answered.read())
        finally:
            connection.close()

    def end(self, sig):
        self.process.send_signal(sig)
        code = self.process.wait(60)
        self._reader.join(10)
        return code


@pytest.fixture
def start(model_folder, tmp_path):
    running = []

    def run(*more, model=model_folder):
        running.append(Service(model, tmp_path, *more))
        return running[-1]

    yield run
    for one in running:
        if one.process.poll() is None:
            one.end(signal.SIGKILL)


def test_32_who_ask_at_its_start_are_answered_alike_and_health_answers_meanwhile(start):
    service = start("--no-inbox").listening()
    slowest, over = 0.0, threading.Event()

    def watch():
        nonlocal slowest
        while not over.is_set():
            began = time.perf_counter()
            assert service.get("/v1/health")[1]["model"] in ("loading", "ready")
            slowest = max(slowest, time.perf_counter() - began)

    watching = threading.Thread(target=watch)
    watching.start()
    with ThreadPoolExecutor(32) as pool:
        asked = [
            pool.submit(service.post, "/v1/predict", {"texts": ["chest pain"]}) for _ in range(32)
        ]
        answers = [a.result() for a in asked]
    over.set()
    watching.join()
    assert {status for status, _ in answers} == {200}
    assert len({json.dumps(body["predictions"]) for _, body in answers}) == 1
    assert slowest < 2
    assert service.end(signal.SIGTERM) == 0


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_answers_what_was_asked_and_leaves_a_whole_audit(start, sig):
    service = start("--no-inbox").listening()
    service.post("/v1/predict", {"texts": ["a"]})
    statuses = []

    def ask():
        texts = ["chest pain and trouble breathing " * 50] * 64
        statuses.append(service.post("/v1/predict", {"texts": texts})[0])

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for thread in asking:
        thread.start()
    time.sleep(0.05)
    assert service.end(sig) == 0
    for thread in asking:
        thread.join(10)
    assert statuses == [200] * 4
    lines = list(entries(service.data / "audit.jsonl"))
    assert [lines[0]["action"], lines[-1]["action"]] == ["start", "stop"]
    assert sum(x["action"] == "score" for x in lines) == 5
    head = str(verify(service.data / "audit.jsonl"))
    assert any(head in line for line in service.said)


def test_an_end_by_force_loses_nothing_of_the_audit(start):
    service = start("--no-inbox").listening()
    answered = []

    def ask(number):
        try:
            for i in range(10_000):
                name = f"m{number}-{i}"
                body = {"documents": [{"id": name, "text": "chest pain"}]}
                if service.post("/v1/predict", body)[0] == 200:
                    answered.append(name)
        except (OSError, http.client.HTTPException):
            return

    asking = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in asking:
        thread.start()
    while len(answered) < 60:
        time.sleep(0.01)
    service.end(signal.SIGKILL)
    for thread in asking:
        thread.join(10)
    kept = {i for x in entries(service.data / "audit.jsonl") for i in x["ids"]}
    assert set(answered) <= kept
    service.socket.unlink(missing_ok=True)
    again = start("--no-inbox").listening()
    again.post("/v1/predict", {"texts": ["a"]})
    assert again.end(signal.SIGTERM) == 0
    assert verify(service.data / "audit.jsonl").lines > len(answered)


def test_a_length_that_lies_is_refused_and_the_next_request_is_answered(start, case):
    lying = json.loads((case("D24") / "upload.json").read_text())["bodies"][3]
    service = start("--no-inbox").listening()
    body = json.dumps({"texts": ["x" * lying["n"]]})
    headers = {"Content-Type": "application/json", "Content-Length": str(lying["content_length"])}
    assert service.ask("POST", "/v1/predict", body, headers)[0] == 400
    assert service.post("/v1/predict", {"texts": ["a"]})[0] == 200
    assert service.end(signal.SIGTERM) == 0


def test_a_folder_that_is_no_model_ends_with_one_line(start, tmp_path):
    (tmp_path / "none").mkdir()
    service = start(model=tmp_path / "none")
    assert service.process.wait(60) == 2
    service._reader.join(10)
    errors = [line for line in service.said if line.startswith("error: ")]
    assert len(errors) == 1
    assert "no model folder" in errors[0]
