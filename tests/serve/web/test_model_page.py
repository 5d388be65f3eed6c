"""The page of the model: what is in its folder, and what is missing."""

import json
import re
import shutil

import pytest

from attending.cli.app import app
from attending.models.development import FILE
from attending.serve.predictor import Predictor
from attending.serve.web.model_page import model_page


@pytest.fixture
def folder(model_folder, tmp_path):
    copied = shutil.copytree(model_folder, tmp_path / "model")
    (copied / FILE).unlink(missing_ok=True)
    return copied


@pytest.fixture
def predictor(folder):
    opened = Predictor(folder).load()
    yield opened
    opened.close()


def write_scores(folder, known, **changes):
    rows = [[0.1, 0.2, p] for p in (0.9, 0.8, 0.4, 0.3, 0.2, 0.1, 0.05, 0.04, 0.03, 0.02)]
    truth = [["urgent"], ["urgent"], ["medium"], ["urgent"]] + [["medium"]] * 6
    body = {
        "format": 1,
        "fingerprint": "f",
        "rows": 10,
        "label_set_hash": known.hash,
        "labels": list(known.ids),
        "probabilities": rows,
        "truth": truth,
    } | changes
    (folder / FILE).write_text(json.dumps(body))


def test_a_bare_folder_says_what_is_missing(client, folder, predictor):
    page = client.get("/inbox/model").text
    assert FILE in model_page(predictor, None, None).floor.missing
    assert "There is no evaluation in the model folder" in page
    assert "Needs an immediate phone call" in page
    assert "Read the card" in page


def test_the_price_of_a_recall(folder, predictor):
    write_scores(folder, predictor.labels)
    found = model_page(predictor, "urgent", 100).floor
    assert found.point.alerts == 4
    assert found.point.caught == 3
    assert "400 alerts per 1,000 messages, 100 of them false" in found.sentence
    cheaper = model_page(predictor, "urgent", 60).floor
    assert (cheaper.point.alerts, cheaper.point.caught) == (2, 2)
    assert model_page(predictor, None, None).floor.label == "urgent"
    assert model_page(predictor, "nope", 7).floor.wanted == 50
    assert "no document has the label" in model_page(predictor, "non-urgent", 95).floor.missing


@pytest.mark.parametrize(
    "changes",
    [
        {"label_set_hash": "x"},
        {"probabilities": [[1]]},
        {"format": 2},
        {"truth": 3},
        {"probabilities": [], "truth": []},
    ],
)
def test_scores_that_do_not_fit(folder, predictor, changes):
    write_scores(folder, predictor.labels, **changes)
    found = model_page(predictor, "urgent", 95).floor
    assert found.point is None
    assert found.missing


def test_the_newest_evaluation_of_these_labels(folder, predictor, messages, tmp_path):
    from typer.testing import CliRunner

    from attending.data.writers import write_documents

    write_documents(messages, tmp_path / "test.csv")
    done = CliRunner().invoke(app, ["evaluate", str(folder), str(tmp_path / "test.csv")])
    assert done.exit_code == 0, done.output
    shown = model_page(predictor, None, None).evaluated
    assert shown.name == "evaluation-test"
    assert shown.documents == 48
    assert [name for name, _ in shown.matrix] == ["urgent", "medium", "non-urgent"]
    assert sum(c.count for _, row in shown.matrix for c in row) == 48
    assert [row[i].kind for i, (_, row) in enumerate(shown.matrix)] == ["right"] * 3
    assert "<svg" in shown.picture
    assert "style=" not in shown.picture
    path = folder / "evaluation-test" / "metrics.json"
    path.write_text(path.read_text().replace(predictor.labels.hash, "other"))
    assert model_page(predictor, None, None).evaluated is None
    path.write_text("[" * 100_000)
    assert model_page(predictor, None, None).evaluated is None


def test_markup_in_a_card_stays_text(folder, predictor):
    (folder / "README.md").write_text(
        "# A\n\n<script>x</script> [a](javascript:x)\n\n|a|b|\n|-|-:|\n|1|2|\n"
    )
    card = model_page(predictor, None, None).card
    assert "<script" not in card
    assert 'href="javascript' not in card
    assert not re.search(r"\sstyle=", card)
    assert '<td class="n">2</td>' in card
