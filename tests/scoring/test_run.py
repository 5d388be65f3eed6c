"""Files are scored in order, whole, and once, whatever happens on the way."""

import gzip
import json
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool

import pytest
from filelock import FileLock

from attending.data.corpora import load_corpus
from attending.errors import DataError, MissingExtra, ModelError, OutputError
from attending.models.store import load_model
from attending.scoring import local
from attending.scoring.chunks import Chunk, score_chunk
from attending.scoring.job import Reading, model_digest
from attending.scoring.run import score_files

from .conftest import lines


def read(folder):
    return {name: (folder / f"{name}.jsonl").read_bytes() for name in ("predictions", "errors")}


@pytest.fixture(scope="module")
def whole(model, table, tmp_path_factory):
    """The outcome of one undisturbed run in one process."""
    out = tmp_path_factory.mktemp("whole") / "out"
    outcome = score_files(model, [table], out, workers=1, chunk_rows=50)
    return outcome, out


def test_every_row_has_its_line_as_predict_gives_it(model, table, whole):
    outcome, out = whole
    rows = load_corpus(table, label="").rows
    expected = [p.to_dict() for p in load_model(model).predict(rows)]
    found = lines(out / "predictions.jsonl")
    assert [row.pop("row") for row in found] == list(range(1, 481))
    assert {row.pop("file") for row in found} == {"many.csv"}
    assert found == expected
    assert outcome.counts["rows"] == 480 and outcome.resumed == 0
    assert sum(outcome.counts["labels"].values()) == outcome.counts["status"]["ok"] == 478
    assert {p.name for p in out.iterdir()} == {
        "predictions.jsonl", "errors.jsonl", "score.json", "job.json",
    }  # fmt: skip


def test_rows_without_an_answer_are_listed_by_number_without_text(whole):
    found = lines(whole[1] / "errors.jsonl")
    assert [(e["row"], e["line"], e["id"], e["status"]) for e in found] == [
        (7, 8, "m7", "empty_text"),
        (12, 13, "row-12", "failed"),
    ]
    assert found[1]["reason"] == "4 cells, expected 3"


@pytest.mark.slow
def test_chunks_and_processes_change_nothing(model, table, whole, tmp_path):
    score_files(model, [table], tmp_path / "a", workers=1, chunk_rows=7)
    assert read(tmp_path / "a") == read(whole[1])
    score_files(model, [table], tmp_path / "b", workers=2, chunk_rows=100)
    assert read(tmp_path / "b") == read(whole[1])


def test_several_files_and_kinds_in_turn(model, messages, tmp_path):
    rows = [{"id": d.id, "text": d.text} for d in messages[:5]]
    body = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "a.jsonl").write_text(body)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(body.encode()))
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    score_files(model, files, tmp_path / "out", workers=1, chunk_rows=3)
    found = lines(tmp_path / "out" / "predictions.jsonl")
    assert [(r["file"], r["row"]) for r in found] == [
        (name, n) for name in ("a.jsonl", "b.jsonl.gz") for n in range(1, 6)
    ]
    assert [r["scores"] for r in found[:5]] == [r["scores"] for r in found[5:]]


def test_conditions_keep_row_numbers(model, table, tmp_path):
    reading = Reading(where={"ward": "B"})
    outcome = score_files(model, [table], tmp_path / "o", reading=reading, workers=1)
    # A row that can't be read has no ward: it is kept.
    numbers = [r["row"] for r in lines(tmp_path / "o" / "predictions.jsonl")]
    assert numbers == sorted([*range(1, 481, 2), 12]) and outcome.counts["rows"] == 241


def test_a_stopped_run_goes_on_where_it_was(model, table, whole, tmp_path, monkeypatch):
    real, seen = local.score_chunk, []

    def three(*args):
        if len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(args[1].number)
        return real(*args)

    monkeypatch.setattr(local, "score_chunk", three)
    with pytest.raises(KeyboardInterrupt):
        score_files(model, [table], tmp_path / "o", workers=1, chunk_rows=50)
    assert not (tmp_path / "o" / "predictions.jsonl").exists()
    monkeypatch.setattr(local, "score_chunk", real)
    told = []
    outcome = score_files(
        model, [table], tmp_path / "o", workers=1, chunk_rows=50,
        progress=lambda *step: told.append(step),
    )  # fmt: skip
    assert outcome.resumed == 150 and told[-1][:2] == (480, 480)
    assert read(tmp_path / "o") == read(whole[1])


def test_half_written_parts_count_for_nothing(model, table, whole, tmp_path, monkeypatch):
    out = tmp_path / "o"

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("attending.scoring.run._assemble", full_disk)
    with pytest.raises(OSError):
        score_files(model, [table], out, workers=1, chunk_rows=50)
    parts = out / "parts"
    (parts / "part-0000002.json").unlink()  # lines without their counts
    (parts / "part-0000003.json").write_text("{")  # cut off
    (parts / "part-0000004.jsonl").unlink()  # counts without their lines
    (parts / ".part-0000009.jsonl.1").write_text("half")
    monkeypatch.undo()
    outcome = score_files(model, [table], out, workers=1, chunk_rows=50)
    assert outcome.resumed == 480 - 3 * 50
    assert read(out) == read(whole[1])


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_kill_9_in_the_middle_loses_nothing(model, table, whole, tmp_path, workers):
    """The process is killed while parts appear; the same command then ends as if it hadn't."""
    out = tmp_path / "o"
    words = [
        sys.executable, "-m", "attending", "score", str(table), "--model", str(model),
        "--out", str(out), "--chunk", "1", "--workers", str(workers),
    ]  # fmt: skip
    started = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while len(list(out.glob("parts/part-*.json"))) < 5:
            assert started.poll() is None and time.monotonic() < until
            time.sleep(0.005)
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()
    done = len(list(out.glob("parts/part-*.json")))
    assert 5 <= done < 480 and not (out / "predictions.jsonl").exists()
    again = score_files(model, [table], out, workers=1, chunk_rows=1)
    assert done <= again.resumed < 480
    assert read(out) == read(whole[1])


def test_a_row_that_breaks_the_model_fails_alone(model, messages, urgency):
    class Fragile:
        """Breaks on one text, with the text in its message."""

        def __init__(self):
            self.inner = load_model(model)

        def predict(self, rows, *, progress=None):
            if any("syncope" in getattr(r, "text", "") for r in rows):
                raise ValueError("MARKER syncope")
            return self.inner.predict(rows)

    from attending.records import Document

    rows = [Document("a", "chest pain"), Document("b", "near syncope"), Document("c", "refill")]
    scored = score_chunk(Fragile(), Chunk(0, "f.csv", tuple(enumerate(rows, 1))))
    assert scored.counts["status"] == {"ok": 2, "failed": 1}
    assert [(e["row"], e["reason"]) for e in scored.errors] == [(2, "scoring failed (ValueError)")]
    assert b"MARKER" not in scored.lines and b"syncope" not in scored.lines


# What is refused, in one line and before anything is scored.


def test_done_work_is_not_done_again(model, table, whole):
    again = score_files(model, [table], whole[1], workers=1, chunk_rows=50)
    assert again.done_before and again.counts == whole[0].counts


def test_another_job_is_refused_unless_forced(model, table, tmp_path):
    small = tmp_path / "small.csv"
    small.write_text("id,text\n1,chest pain\n")
    out = tmp_path / "o"
    score_files(model, [small], out, workers=1)
    small.write_text("id,text\n1,chest pain\n2,refill\n")
    with pytest.raises(OutputError, match=r"another job \(found other files\)"):
        score_files(model, [small], out, workers=1)
    (out / "mine.txt").write_text("kept")
    assert score_files(model, [small], out, workers=1, force=True).counts["rows"] == 2
    assert (out / "mine.txt").read_text() == "kept"


def test_the_precision_is_part_of_a_job(model, table, tmp_path):
    out = tmp_path / "o"
    score_files(model, [table], out, workers=1)
    job = json.loads((out / "job.json").read_text())
    assert job.pop("precision") == "float32"
    (out / "job.json").write_text(json.dumps(job))  # as earlier versions wrote it
    assert score_files(model, [table], out, workers=1).done_before
    with pytest.raises(OutputError, match=r"another job \(found other --precision\)"):
        score_files(model, [table], out, workers=1, precision="bfloat16")
    with pytest.raises(ModelError, match="no precision"):
        score_files(model, [table], tmp_path / "p", workers=1, precision="half")
    assert not (tmp_path / "p").exists()


def test_folders_of_others_are_left_alone(model, table, tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    for force in (False, True):
        with pytest.raises(OutputError, match="no scoring job"):
            score_files(model, [table], tmp_path, force=force)
    with pytest.raises(OutputError, match="is a file"):
        score_files(model, [table], tmp_path / "mine.txt")


def test_two_runs_do_not_meet_in_one_folder(model, table, tmp_path):
    (tmp_path / "o").mkdir()
    with FileLock(tmp_path / "o" / ".lock"), pytest.raises(OutputError, match="another run"):
        score_files(model, [table], tmp_path / "o")


def test_a_fault_in_the_last_line_shows_before_the_first_is_scored(model, tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(b"id,text\n" + b"1,ok\n" * 5000 + b"2,caf\xe9\n")
    with pytest.raises(DataError, match="a byte can't be read"):
        score_files(model, [path], tmp_path / "o")
    assert not list((tmp_path / "o").glob("*"))


def test_nothing_to_score(model, tmp_path):
    (tmp_path / "t.csv").write_text("id,text\n")
    with pytest.raises(DataError, match="no rows to score"):
        score_files(model, [tmp_path / "t.csv"], tmp_path / "o")
    with pytest.raises(DataError, match="no file was named"):
        score_files(model, [], tmp_path / "o")


def test_a_model_is_known_by_all_that_its_answers_depend_on(model, tmp_path):
    import shutil

    copy = shutil.copytree(model, tmp_path / "copy")
    assert model_digest(copy) == model_digest(model)
    (copy / "README.md").write_text("edited")
    assert model_digest(copy) == model_digest(model)
    decision = json.loads((copy / "decision.json").read_text()) | {"abstain_below": 0.9}
    (copy / "decision.json").write_text(json.dumps(decision))
    assert model_digest(copy) != model_digest(model)


def test_a_worker_that_is_killed_is_told_of(model, table, tmp_path, monkeypatch):
    def broken(*_):
        raise BrokenProcessPool

    monkeypatch.setattr(local.ProcessPoolExecutor, "submit", broken)
    with pytest.raises(ModelError, match=r"short of memory.*fewer --workers"):
        score_files(model, [table], tmp_path / "o", workers=2, chunk_rows=50)


def test_without_ray_one_line_says_what_to_install(model, table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r'pip install "attending\[scale\]"'):
        score_files(model, [table], tmp_path / "o", engine="ray")


@pytest.mark.slow
@pytest.mark.enable_socket
def test_ray_gives_the_same(model, table, whole, tmp_path):
    ray = pytest.importorskip("ray")
    try:
        out = tmp_path / "o"
        score_files(model, [table], out, engine="ray", workers=2, chunk_rows=50)
    finally:
        ray.shutdown()
    assert read(out) == read(whole[1])
