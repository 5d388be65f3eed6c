"""Contrast of every pair of colours that the pages use, in both schemes (WCAG 2.2, AA)."""

import re
from importlib import resources

import pytest

CSS = resources.files("attending.serve.web").joinpath("static", "inbox.css").read_text("utf-8")

TEXT = [
    ("ink", "page"), ("ink", "sheet"), ("ink", "hover"), ("ink", "chosen"),
    ("soft", "page"), ("soft", "sheet"), ("soft", "hover"), ("soft", "chosen"),
    ("link", "page"), ("link", "sheet"), ("mark-ink", "mark"), ("accent-ink", "accent"),
    ("note-ink", "note-back"), ("good-ink", "good-back"), ("bad-ink", "page"),
    ("person-ink", "sheet"), ("person-ink", "hover"), ("person-ink", "chosen"),
    *((f"{tone}-ink", f"{tone}-back") for tone in ("high", "mid", "low", "person", "plain")),
]  # fmt: skip
SHAPES = [
    ("edge", "sheet"), ("edge", "page"), ("link", "page"), ("link", "sheet"), ("link", "chosen"),
    ("accent", "sheet"), ("high", "track"), ("mid", "track"), ("low", "track"),
    *((tone, ground) for tone in ("high", "mid", "low", "person", "plain")
      for ground in ("sheet", "page")),
]  # fmt: skip


def colours(scheme):
    blocks = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    assert len(blocks) == 2
    found = {}
    for block in blocks if scheme == "dark" else blocks[:1]:
        found |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    shades = dict(re.findall(r"--(right|wrong): ([\d, ]+);", blocks[scheme == "dark"]))
    return found, {k: tuple(map(int, v.split(","))) for k, v in shades.items()}


def rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def luminance(colour):
    parts = [c / 255 for c in colour]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_formula():
    assert contrast((255, 255, 255), (0, 0, 0)) == pytest.approx(21)
    assert contrast((118, 118, 118), (255, 255, 255)) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("front, back", TEXT)
def test_text_can_be_read(scheme, front, back):
    known, _ = colours(scheme)
    assert contrast(rgb(known[front]), rgb(known[back])) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("front, back", SHAPES)
def test_shapes_can_be_told_apart(scheme, front, back):
    known, _ = colours(scheme)
    assert contrast(rgb(known[front]), rgb(known[back])) >= 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shaded_cells_can_be_read(scheme):
    known, shades = colours(scheme)
    steps = [float(x) for x in re.findall(r"rgba\(var\(--cell\), (\.\d+)\)", CSS)]
    assert len(steps) == 9
    sheet = rgb(known["sheet"])
    for shade in shades.values():
        for step in steps:
            mixed = tuple(step * s + (1 - step) * p for s, p in zip(shade, sheet, strict=True))
            assert contrast(rgb(known["ink"]), mixed) >= 4.5


def test_no_colour_goes_untested():
    body = CSS[CSS.index("* { box-sizing") :]
    used = set(re.findall(r"var\(--([\w-]+)\)", body)) - {"tone", "back", "word", "cell"}
    tested = {name for pair in (*TEXT, *SHAPES) for name in pair} | {"right", "wrong"}
    assert used - tested <= {"line"}  # hairlines between things that are apart anyway
    assert not re.search(r"#[0-9a-f]{3,6}\b", body)
