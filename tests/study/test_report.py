"""The files for people and programs: complete, escaped, self-contained."""

import csv
import json
import re
from html.parser import HTMLParser

import pytest

from attending.evaluation.wording import UNDEFINED
from attending.study.names import Figure
from attending.study.published import published_dots, published_table
from attending.study.report import FILES, write_results
from attending.study.results import collect
from attending.study.run import run_study

PUBLISHED = {
    "source": "Someone 2020, Table 3",
    "note": "Other data",
    "row": [{"name": "SVM", "system": "tfidf-svm", "figures": {"macro_f1": [0.748, 0.007],
             "parameters": 66e6}}],
}  # fmt: skip


class Checker(HTMLParser):
    """Collects text and what a page would load; checks that tags are closed."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.loads = [], [], []

    def handle_starttag(self, tag, attrs):
        self.loads += [v for k, v in attrs if k in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def files(home):
    def make(**tables):
        made = home(**tables)
        run_study(made)
        return {kind: p.read_text() for kind, p in write_results(made.path, collect(made)).items()}

    return make


def test_all_that_a_study_can_show(files):
    found = files(
        systems=[
            {"name": "frequency", "seeds": [0]}, {"name": "tfidf-svm"},
            {"name": "<b>odd|name", "recipe": "tfidf-logistic"},
        ],
        claims=[{"says": "tfidf-svm > frequency on accuracy", "text": "Words <help>"}],
        reference="frequency",
        metrics=["macro_f1", "accuracy", "recall of urgent"],
        sizes=["all", 20],
        about="A trial",
        score_train=True,
        published=PUBLISHED,
    )  # fmt: skip
    assert set(found) == set(FILES)
    page = Checker()
    page.feed(found["page"])
    assert page.open == [] and page.loads == []
    assert "<script" not in found["page"] and "http" not in found["page"]
    text = " ".join(" ".join(page.text).split())
    for words in (
        "<b>odd|name", "Words <help>", "standard deviation", "standard error", "95% interval",
        "by training rows", "on training rows", "Published figures", "0.748 ± 0.007", "66.0 M",
        "Someone 2020", "every label's share kept", "12 test documents", "p, seeds",
    ):  # fmt: skip
        assert words in text, words
    assert found["page"].count('class="diagram study"') == 2
    assert found["page"].count('class="paper"') == 1
    summary = found["markdown"]
    assert "&lt;b>odd\\|name" in summary and "| standard deviation | standard error |" in summary
    widths = {line.count(" |") for line in summary.splitlines() if line.startswith("| tfidf-svm |")}
    assert len(widths) >= 3


def test_published_figures_stand_beside_ours_of_as_many_rows(home):
    rows = [
        {"name": f"P {n}", "system": "tfidf-logistic", "rows": n, "figures": {"accuracy": 0.123}}
        for n in (12, 20, 900)
    ]
    tables = {
        "systems": [{"name": "tfidf-logistic", "seeds": [0]}],
        "metrics": ["accuracy"],
        "sizes": ["all", 20, 12],
    }
    made = home(**tables, published=PUBLISHED | {"row": rows})
    run_study(made)
    results = collect(made)
    found = published_table(results)
    ours = {row["name"]: row["cells"] for row in found["rows"]}
    blocks = {block.size: block for block in results.blocks}
    for n in (12, 20):
        mean = blocks[n].rows[0].spreads[Figure("accuracy")].mean
        assert ours[f"P {n}"] == [("12.3%", f"{100 * mean:.1f}%")]
    assert blocks[12].rows[0].spreads != blocks[None].rows[0].spreads
    assert ours["P 900"] == [("12.3%", UNDEFINED)]
    assert published_dots(results, blocks[None], Figure("accuracy")) == {}
    assert published_dots(results, blocks[20], Figure("accuracy")) == {"tfidf-logistic": 0.123}
    files = {k: p.read_text() for k, p in write_results(made.path, results).items()}
    assert 'class="paper"' not in files["page"] and "Diamonds: the published" in files["page"]
    assert files["page"].count('<polygon class="s0 published"') == 3


def test_markdown_tables_are_as_wide_as_their_heads(files):
    found = files(
        claims=[{"says": "tfidf-logistic > frequency on accuracy"}],
        reference="frequency",
        sizes=["all", 20],
        published=PUBLISHED | {"row": [{"name": "x", "figures": {"macro_f1": 0.5}}]},
    )
    tables = re.findall(r"(?:^\|.*\n)+", found["markdown"], flags=re.MULTILINE)
    assert len(tables) == 6
    for table in tables:
        cells = {len(re.split(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1, table


def test_the_csv_names_what_it_holds(files):
    found = files(reference="frequency", sizes=["all", 20])
    rows = list(csv.DictReader(found["csv"].splitlines()))
    assert len(rows) == 2 * 2 * 2
    (row,) = [
        r for r in rows
        if (r["system"], r["metric"], r["training_rows"]) == ("tfidf-logistic", "macro_f1", "36")
    ]  # fmt: skip
    assert float(row["standard_error"]) == pytest.approx(float(row["standard_deviation"]) / 2**0.5)
    assert row["reference"] == "frequency" and 0 < float(row["p_documents"]) <= 1
    assert float(row["p_documents_holm"]) >= float(row["p_documents"])


def test_json_holds_every_seed(files):
    body = json.loads(files(reference="frequency")["json"])
    (block,) = body["blocks"]
    assert set(block["systems"]["frequency"]["macro_f1"]["by_seed"]) == {"0", "1"}
    assert block["tests"][0]["seeds"]["seeds"] == 2
    assert body["failed"] == [] and body["missing"] == []


def test_an_unfinished_study_says_so(home):
    made = home(reference="frequency", claims=[{"says": "tfidf-logistic > frequency on macro_f1"}])
    paths = write_results(made.path, collect(made))
    text = paths["markdown"].read_text()
    assert "Unfinished: 4 cells not made yet" in text and "**not tested**" in text
    assert "4 cells not made yet" in paths["page"].read_text()


def test_failures_are_shown_with_their_reason(home):
    made = home(seeds=[0])
    made.cell(made.study.cells()[0]).path.mkdir(parents=True)
    made.cell(made.study.cells()[0]).write_failure("no <luck>")
    paths = write_results(made.path, collect(made))
    assert "no &lt;luck&gt;" in paths["page"].read_text()
    assert "1 cell failed" in paths["markdown"].read_text()
    assert "no &lt;luck>" in paths["markdown"].read_text()
