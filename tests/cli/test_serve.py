"""The verbs around a service: what they refuse, keys, and the audit."""

import json

import pytest

from attending.serve.audit import Audit
from attending.serve.keys import Keys


def test_beyond_this_machine_it_wants_to_know_who_asks(run, linear):
    done = run("serve", linear, "--host", "0.0.0.0")
    assert done.code == 2
    assert "must know who asks" in done.error
    assert "attending keys add" in done.error


def test_a_file_without_keys_is_refused(run, linear):
    done = run("serve", linear, "--keys", "none.json")
    assert done.code == 2
    assert "attending keys add NAME --keys none.json" in done.error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--texts", "300"), "more texts than the queue"),
        (("--user-header", "a b"), "user-header"),
        (("--port", "70000"), "--port"),
        (("--zone", "Mars/Olympus"), 'zone: there is no time zone "Mars/Olympus"'),
        (("--zone", "../etc"), "zone: there is no time zone"),
        (("--zone", ""), "zone: there is no time zone"),
    ],
)
def test_settings_that_cant_be_are_named(run, linear, words, said):
    done = run("serve", linear, *words)
    assert done.code == 2
    assert said in done.error


def test_what_is_not_installed_is_named(run, linear, monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "fastapi" else find(name)
    )
    done = run("serve", linear)
    assert done.code == 2
    assert 'pip install "attending[serve]"' in done.error


def test_keys_are_made_listed_and_removed(run):
    done = run("keys", "add", "record-system", "--keys", "k.json")
    assert done.code == 0
    secret = done.out.strip()
    assert secret.startswith("att_")
    assert "only once" in done.err
    assert secret not in run("keys", "list", "--keys", "k.json").out
    made = json.loads(run("keys", "add", "nurse", "--keys", "k.json", "--json").out)
    known = json.loads(run("keys", "list", "--keys", "k.json", "--json").out)
    assert [k["name"] for k in known] == ["record-system", "nurse"]
    assert run("keys", "remove", "nurse", "--keys", "k.json").code == 0
    assert run("keys", "remove", "nurse", "--keys", "k.json").code == 2
    assert run("keys", "add", "record-system", "--keys", "k.json").code == 2
    assert made["key"] != secret


def test_a_key_lets_one_in_where_it_was_made(run, tmp_path):
    secret = run("keys", "add", "a", "--keys", "k.json").out.strip()
    assert Keys(tmp_path / "k.json").who(secret) == "a"


def test_an_audit_is_checked(run, tmp_path):
    audit = Audit(tmp_path / "audit.jsonl")
    audit.record("score", "a", ["m1"])
    audit.record("read", "a", ["m1"])
    audit.close()
    done = run("audit", "verify", "audit.jsonl")
    assert done.code == 0
    assert "whole: 2 lines" in done.out
    head = json.loads(run("audit", "verify", "audit.jsonl", "--json").out)["head"]
    lines = (tmp_path / "audit.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "audit.jsonl").write_text(lines[0])
    assert run("audit", "verify", "audit.jsonl").code == 0
    cut = run("audit", "verify", "audit.jsonl", "--head", head)
    assert cut.code == 2
    assert "cut off or rewritten" in cut.error
    (tmp_path / "audit.jsonl").write_text("".join(lines).replace('"m1"', '"m2"', 1))
    assert "line 2: the chain is broken" in run("audit", "verify", "audit.jsonl").error
    assert run("audit", "verify", "none.jsonl").code == 2
