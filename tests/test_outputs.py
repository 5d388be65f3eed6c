import stat
from pathlib import Path

import pytest

from attending.errors import OutputError
from attending.outputs import new_file, require_apart, require_new


def write(path, content, force):
    with new_file(path, force=force) as file:
        file.write(content)


def test_a_file_is_written_whole_with_the_usual_rights(tmp_path):
    path = tmp_path / "a.html"
    write(path, b"content", force=False)
    assert path.read_bytes() == b"content"
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "plain"]


def test_what_exists_is_kept_unless_asked(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(OutputError, match=r"exists already.*--force"):
        require_new(path)
    with pytest.raises(OutputError, match="exists"):
        write(path, b"new", force=False)
    assert path.read_bytes() == b"old"
    write(path, b"new", force=True)
    assert path.read_bytes() == b"new"


def test_folders_are_not_files(tmp_path):
    with pytest.raises(OutputError, match="folder"):
        require_new(tmp_path, force=True)
    with pytest.raises(OutputError, match="does not exist"):
        require_new(tmp_path / "no" / "a")


def test_a_disk_that_refuses_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OutputError, match="No space left"):
        write(tmp_path / "a", b"x", force=False)
    assert list(tmp_path.iterdir()) == []


def test_outputs_are_neither_each_other_nor_what_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("x")
    require_apart(["a.html", tmp_path / "b.png"], ["in.csv", "portal", "gone.csv"])
    with pytest.raises(OutputError, match="two outputs are one file"):
        require_apart(["a.html", tmp_path / "a.html"])
    with pytest.raises(OutputError, match="this is what is read"):
        require_apart(["a.html", tmp_path / "in.csv"], ["./in.csv"])
