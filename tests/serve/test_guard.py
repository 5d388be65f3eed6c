"""Who is let in, and how much may be sent."""

import base64
import json
import os
import resource

import pytest

from attending.errors import ServeError
from attending.serve.guard import host_name
from attending.serve.keys import Keys
from attending.serve.settings import Settings, is_loopback

PREDICT = {"texts": ["chest pain"]}


def post(client, **headers):
    given = {k.replace("_", "-"): v for k, v in headers.items()}
    return client.post("/v1/predict", json=PREDICT, headers=given)


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "http://x@["])
def test_an_origin_that_is_no_address_is_another_site(serve, origin):
    refused = post(serve(), origin=origin)
    assert refused.status_code == 403
    assert "other sites" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True), ("127.3.2.1", True), ("::1", True), ("localhost", True),
        ("0.0.0.0", False), ("::", False), ("10.0.0.5", False), ("example.org", False),
    ],
)  # fmt: skip
def test_beyond_loopback_a_service_must_know_who_asks(host, loopback, tmp_path):
    assert is_loopback(host) is loopback
    if loopback:
        Settings(host=host).require_safe()
        return
    with pytest.raises(ServeError, match="must know who asks"):
        Settings(host=host).require_safe()
    Settings(host=host, keys=tmp_path / "keys.json").require_safe()
    Settings(host=host, user_header="X-User").require_safe()
    Settings(host=host, socket=tmp_path / "s").require_safe()


def test_with_keys_only_their_owners_are_let_in(serve, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    secret = keys.add("record-system")
    client = serve(keys=keys.path, host="0.0.0.0")
    refused = post(client)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Basic ")
    basic = base64.b64encode(f"anyone:{secret}".encode()).decode()
    for headers in (
        {"Authorization": f"Bearer {secret}"},
        {"authorization": f"bearer {secret} "},
        {"X_API_Key": secret},
        {"Authorization": f"Basic {basic}"},
    ):
        assert post(client, **headers).status_code == 200
    for headers in (
        {"Authorization": "Bearer x"},
        {"Authorization": secret},
        {"Authorization": "Basic !!!"},
        {"Authorization": "Basic /w=="},
        {"X_API_Key": ""},
    ):
        assert post(client, **headers).status_code == 401
    keys.remove("record-system")
    assert post(client, Authorization=f"Bearer {secret}").status_code == 401
    log = client.service.settings.audit_file.read_text()
    assert log.count('"who": "record-system"') == 4
    assert secret not in log


def test_health_and_readiness_need_no_key_and_all_else_does(serve, tmp_path):
    client = serve(keys=tmp_path / "keys.json")
    assert client.get("/v1/health").status_code == 200
    assert client.get("/v1/ready").status_code in (200, 503)
    paths = client.app.openapi()["paths"]
    assert len(paths) >= 12
    for path in [*paths, "/metrics", "/v1/docs", "/v1/openapi.json", "/nothing", "/v1/Health"]:
        if path not in ("/v1/health", "/v1/ready"):
            assert client.get(path).status_code == 401, path
            assert client.post(path).status_code == 401, path


def test_a_proxys_user_is_believed_from_the_proxy_only(serve, tmp_path):
    told = {"X_Remote_User": "nurse@ward-3"}
    client = serve(user_header="X-Remote-User", proxies=("10.0.0.2",), client=("10.0.0.2", 1))
    assert post(client, **told).status_code == 200
    assert '"who": "nurse@ward-3"' in client.service.settings.audit_file.read_text()
    for user in ("", "a b", "x" * 129, "<b>"):
        refused = post(client, X_Remote_User=user)
        assert refused.status_code == 401
        assert "www-authenticate" not in refused.headers


def test_others_cant_name_a_user(serve):
    client = serve(user_header="X-Remote-User", proxies=("10.0.0.2",), client=("10.0.0.3", 1))
    assert post(client, X_Remote_User="nurse").status_code == 401


def test_a_local_service_behind_a_proxy_that_names_nobody_answers_nobody(serve):
    client = serve()
    assert post(client, X_Forwarded_For="203.0.113.9").status_code == 403
    assert post(client).status_code == 200


def test_other_sites_pages_cant_reach_a_local_service(serve):
    client = serve()
    assert post(client, Host="evil.example:8000").status_code == 421
    for host in ("localhost:8000", "127.0.0.1", "[::1]:8000", "LOCALHOST"):
        assert post(client, Host=host).status_code == 200
    assert post(client, Origin="http://evil.example").status_code == 403
    assert post(client, Origin="null").status_code == 403
    assert post(client, Sec_Fetch_Site="cross-site").status_code == 403
    assert post(client, Sec_Fetch_Site="same-site").status_code == 403
    own = {"Origin": "http://127.0.0.1:8000", "Sec_Fetch_Site": "same-origin"}
    assert post(client, **own).status_code == 200
    assert client.get("/v1/model", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


def test_only_named_hosts_where_some_are_named(serve, tmp_path):
    client = serve(keys=tmp_path / "k", hosts=("triage.example.org",))
    assert client.get("/v1/model").status_code == 421
    named = {"Host": "triage.example.org"}
    assert client.get("/v1/model", headers=named).status_code == 401


@pytest.mark.parametrize(
    ("header", "name"),
    [("a.b:80", "a.b"), ("A.b", "a.b"), ("[::1]:80", "::1"), ("[::1]", "::1"), ("", ""),
     ("[", ""), (":80", "")],
)  # fmt: skip
def test_the_name_in_a_host_header(header, name):
    assert host_name(header) == name


def body_of(size):
    """Return a request of exactly so many bytes."""
    frame = len(json.dumps({"texts": [""]}))
    return json.dumps({"texts": ["x" * (size - frame)]}).encode()


def test_bodies_are_refused_before_they_are_read(serve, case):
    asked = json.loads((case("D24") / "upload.json").read_text())
    statuses = json.loads((case("D24") / "expected.json").read_text())["values"]["statuses"]
    client = serve(body_bytes=asked["limit"], text_chars=2_000_000)
    under, over, chunked, _ = asked["bodies"]
    sent = 0

    def pieces():
        nonlocal sent
        for _ in range(chunked["n"] // 65536):
            sent += 65536
            yield b"x" * 65536

    def send(content, **headers):
        given = {"Content-Type": "application/json"} | headers
        return client.post("/v1/predict", content=content, headers=given).status_code

    assert send(body_of(under["n"])) == statuses["just_under"]
    assert send(body_of(over["n"])) == statuses["just_over"]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert send(pieces()) == statuses["chunked_50MiB"]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 100  # MiB; the test's own client keeps the whole body first
    assert send(b"x", **{"Content-Length": str(10**30)}) == 413
    assert client.post("/v1/predict", json=PREDICT).status_code == 200
    refused = client.post("/v1/predict", content=body_of(over["n"]))
    assert refused.headers["connection"] == "close"
    assert refused.json()["title"]


@pytest.mark.parametrize("path", ["/v1/fhir", "/cds-services/attending"])
def test_larger_bodies_are_taken_where_records_come_in(serve, path):
    client = serve(body_bytes=2000, upload_bytes=5000)
    assert client.post(path, content=b" " * 4000).status_code in (400, 422)
    assert client.post(path, content=b" " * 6000).status_code == 413
    assert client.post("/v1/predict", content=b" " * 4000).status_code == 413
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    assert client.post("/v1/predict", content=b" " * 4000, headers=form).status_code == 422
    assert client.post("/v1/predict", content=b" " * 6000, headers=form).status_code == 413


def test_a_body_is_read_no_further_than_allowed():
    """Straight at the reader: nothing beyond the limit is ever asked for."""
    import asyncio

    from starlette.datastructures import Headers

    from attending.serve.guard import read_body
    from attending.serve.problems import Refused

    asked = 0

    async def receive():
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": os.urandom(1000), "more_body": True}

    async def slow():
        await asyncio.sleep(5)

    with pytest.raises(Refused) as refused:
        asyncio.run(read_body(receive, Headers(), 5000, 5))
    assert (refused.value.status, asked) == (413, 6)
    with pytest.raises(Refused) as refused:
        asyncio.run(read_body(receive, Headers({"content-length": "5001"}), 5000, 5))
    assert (refused.value.status, asked) == (413, 6)
    with pytest.raises(Refused) as refused:
        asyncio.run(read_body(slow, Headers(), 5000, 0.01))
    assert refused.value.status == 408
