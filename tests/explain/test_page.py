import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from attending.errors import DataError, OutputError
from attending.explain.evidence import attach_spans, explained_words
from attending.explain.page import write_page
from attending.explain.wording import caution
from attending.records import Coverage, Document, Label, LabelSet, Prediction

VOID = {"meta", "input", "link", "img", "br", "hr"}


class Page(HTMLParser):
    """What a page is made of: its elements with their attributes, and its visible text."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.text = [], [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "title"):
            self.text += data

    def all(self, tag, **wanted):
        return [
            attributes
            for found, attributes in self.elements
            if found == tag and wanted.items() <= attributes.items()
        ]


@pytest.fixture
def written(tmp_path, model, label_set):
    def write(rows, *, labels="all", method="weights", change=lambda predictions: predictions):
        predictions = change(model.predict(rows))
        words = explained_words(model, rows, predictions, labels=labels, method=method)
        path = tmp_path / f"page-{len(list(tmp_path.iterdir()))}.html"
        explained = attach_spans(rows, predictions, words)
        note = caution(method)
        options = {"title": "Words of <b>", "method": method, "caution": note}
        write_page(path, rows, explained, words, label_set, **options)
        html = path.read_bytes().decode("utf-8")
        page = Page(html)
        assert page.open == [], "an element is not closed"
        return html, page

    return write


def test_the_page_says_what_it_holds_and_what_it_can_t_say(written, rows):
    _, page = written(rows)
    text = " ".join(page.text.split())
    assert text.index("Contains messages: handle as patient data.") < text.index("Words of <b>")
    assert caution("weights") in text and "“weights”" in text
    assert (
        "4 messages. The prediction agrees with the known label in 2 of 2. 2 could not be" in text
    )
    assert "Predicted: Urgent 99 % Known label: Urgent agrees" in text
    assert "Read 9 of 9 tokens." in text
    assert "Can wait." in text
    assert "“Chest” · “Bleeding”" in text


def test_the_page_loads_and_runs_nothing(written, rows):
    html, page = written(rows)
    for tag in ("script", "link", "img", "iframe", "object", "form"):
        assert page.all(tag) == []
    for _, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("href", "#").startswith("#")
        assert "src" not in attributes
    assert not re.search(r"url\(|@import|https?:", html)
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    assert policy.startswith("default-src 'none'")


def test_labels_are_switched_by_radio_buttons_that_have_names(written, rows):
    _, page = written(rows)
    radios = page.all("input", type="radio")
    assert len(radios) == 2 * 2
    assert [("checked" in radio) for radio in radios] == [True, False, False, True]
    targets = {label["for"] for label in page.all("label")}
    assert targets == {radio["id"] for radio in radios}
    assert len({radio["name"] for radio in radios}) == 2
    assert len(page.all("fieldset")) == len(page.all("legend")) == 2


def test_links_and_names_lead_somewhere(written, rows):
    _, page = written(rows)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {link["href"][1:] for link in page.all("a")} <= set(ids)
    assert {article["aria-labelledby"] for article in page.all("article")} <= set(ids)
    assert len(page.all("article")) == 4
    assert len(page.all("h1")) == 1 and page.all("html", lang="en")


def test_one_view_needs_no_switch(written, rows):
    _, page = written(rows, method="attention")
    assert page.all("input") == []
    assert "Words that stand out, for all labels together" in page.text
    assert caution("attention") in page.text
    assert not page.all("span", **{"class": "n9"}), "attention speaks against nothing"


def test_what_could_not_be_read_is_said_and_has_no_label(written, rows):
    _, page = written(rows)
    text = " ".join(page.text.split())
    assert "Not read: there is no text in it. A person must look at it." in text
    assert "row-3 Not read: the text is not UTF-8. A person must look at it." in text


def test_the_part_not_read_is_marked(written):
    rows = [Document("a", "chest pain and then a lot of other words at the end")]

    def cut(predictions):
        return [replace(p, read=Coverage(2, 11, 1)) for p in predictions]

    html, page = written(rows, change=cut)
    assert "Read 2 of 11 tokens. The model does not know the rest." in " ".join(page.text.split())
    assert html.count('class="unread"') == 2, "once in the view of each label"
    assert '>pain</span></mark><span class="unread"> and' in html


def test_messages_are_text_and_whole(written):
    text = '  <script>x</script> & "q"\t\n\n é👩\u200d⚕️ \u202eabc\u200b </div>'
    html, page = written([Document("<i>&", text), Document("b", "x")])
    assert page.text.count(text) == 2, "once for each label"
    assert "&lt;i&gt;&amp;" in html
    assert "U+202E" in html and "U+200B" in html
    assert len([a for a in page.all("div") if a.get("dir") == "auto"]) == 4


def test_lone_surrogates_are_written(written):
    html, _ = written([Document("\ud800", "a \ud800 b")])
    assert "U+D800" in html


def test_many_labels_show_the_likely_ones(tmp_path):
    labels = LabelSet(tuple(Label(f"c{i}", f"Code {i}") for i in range(500)))
    scores = {f"c{i}": i / 1000 for i in range(500)} | {"c0": 0.0001}
    prediction = Prediction("a", "ok", ("c499", "c498"), scores, read=Coverage(1, 1, 1))
    document = Document("a", "text", ("c0",))
    path = tmp_path / "p.html"
    write_page(path, [document], [prediction], [{}], labels, title="t", method="m", caution="c")
    page = Page(path.read_text(encoding="utf-8"))
    assert len(page.all("li")) - len(page.all("ul", **{"class": "key"})) * 3 == 13
    text = " ".join(page.text.split())
    assert "and 487 more labels" in text
    assert "Code 499 50 %, Code 498 50 %" in text and "< 1 %" in text


def test_no_page_is_overwritten_unasked(tmp_path, label_set):
    path = tmp_path / "p.html"
    options = {"title": "t", "method": "m", "caution": "c"}
    write_page(path, [], [], [], label_set, **options)
    with pytest.raises(OutputError, match="exists"):
        write_page(path, [], [], [], label_set, **options)
    write_page(path, [], [], [], label_set, force=True, **options)


def test_rows_and_predictions_must_belong_together(tmp_path, label_set):
    with pytest.raises(DataError, match="1 and 0 and 0"):
        write_page(
            tmp_path / "p.html",
            [Document("a", "x")],
            [],
            [],
            label_set,
            title="t",
            method="m",
            caution="c",
        )


def colours(css):
    return {
        name: tuple(int(value[i : i + 2], 16) / 255 for i in (0, 2, 4))
        for name, value in re.findall(r"--([\w-]+): #([0-9a-f]{6});", css)
    } | {
        name: tuple(int(part) / 255 for part in value.split(","))
        for name, value in re.findall(r"--([\w-]+): ([\d, ]+);", css)
    }


def contrast(a, b):
    from attending.explain.canvas import luminance

    lighter, darker = sorted((luminance(a), luminance(b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_aa(written, rows, scheme):
    html, _ = written(rows)
    blocks = re.findall(r":root \{(.*?)\}", html, re.DOTALL)
    found = colours(blocks[["light", "dark"].index(scheme)])
    assert len(found) >= 15
    for ink, paper in [
        ("ink", "paper"),
        ("ink", "card"),
        ("soft", "paper"),
        ("soft", "card"),
        ("link", "paper"),
        ("link", "card"),
        ("warn-ink", "warn"),
        ("bad", "card"),
        ("bad", "paper"),
        ("good", "card"),
    ]:
        assert contrast(found[ink], found[paper]) >= 4.5, f"{ink} on {paper}"
    for line, paper in [
        ("edge", "card"),
        ("bar", "card"),
        ("mark", "paper"),
        ("warn-edge", "warn"),
    ]:
        assert contrast(found[line], found[paper]) >= 3, f"{line} on {paper}"
    alphas = re.findall(r"\.([pn])(\d) \{ background: rgba\(var\(--(\w+)\), ([\d.]+)\)", html)
    assert len(alphas) == 18
    for _, _, hue, alpha in alphas:
        mixed = tuple(
            float(alpha) * h + (1 - float(alpha)) * p
            for h, p in zip(found[hue], found["paper"], strict=True)
        )
        assert contrast(found["ink"], mixed) >= 4.5, f"{hue} at {alpha}"
