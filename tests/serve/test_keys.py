"""Keys are shown once, kept as hashes, and count at once."""

import json
import stat

import pytest

from attending.errors import ServeError
from attending.serve.keys import Keys


@pytest.fixture
def keys(tmp_path):
    return Keys(tmp_path / "in" / "keys.json")


def test_a_key_lets_its_owner_in_and_only_its_hash_is_kept(keys):
    secret = keys.add("record-system")
    other = keys.add("nurse@ward-3")
    assert secret != other
    assert len(secret) > 40
    assert keys.who(secret) == "record-system"
    assert keys.who(other) == "nurse@ward-3"
    for wrong in ("", "att_", secret[:-1], secret + "x", secret.upper(), "ü\udc80"):
        assert keys.who(wrong) is None
    body = keys.path.read_text()
    assert secret not in body
    assert secret[4:] not in body
    assert [k.name for k in keys.all()] == ["record-system", "nurse@ward-3"]
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600


def test_a_key_that_is_added_or_removed_elsewhere_counts_at_once(keys):
    running = Keys(keys.path)
    assert running.who("att_x") is None
    secret = keys.add("a")
    assert running.who(secret) == "a"
    keys.remove("a")
    assert running.who(secret) is None


def test_names_are_told_apart(keys):
    keys.add("clinic")
    with pytest.raises(ServeError, match="already"):
        keys.add("clinic")
    for name in ("", " a", "a b", "-a", "x" * 65, "a\n"):
        with pytest.raises(ServeError, match="can't be the name"):
            keys.add(name)
    with pytest.raises(ServeError, match='no key named "clinik"'):
        keys.remove("clinik")


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"keys": [{"name": "a"}]}', '{"keys": 3}'])
def test_a_damaged_file_lets_nobody_in_and_is_not_written_over(keys, body):
    secret = keys.add("a")
    keys.path.write_text(body)
    assert keys.who(secret) is None
    with pytest.raises(ServeError, match="can't be read"):
        keys.add("b")
    assert keys.path.read_text() == body


def test_hashes_are_sha256(keys):
    import hashlib

    secret = keys.add("a")
    row = json.loads(keys.path.read_text())["keys"][0]
    assert row["sha256"] == hashlib.sha256(secret.encode()).hexdigest()
