import pytest

from attending.explain.canvas import Face, ink_on, luminance, shade


@pytest.fixture(scope="module")
def face():
    return Face(10)


def contrast(a, b):
    lighter, darker = sorted((luminance(a), luminance(b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("tenths", range(11))
def test_text_can_be_read_on_every_shade(tenths):
    background = shade(tenths / 10)
    assert contrast(background, ink_on(background)) >= 4.5


def test_shades_get_darker_without_steps_back():
    lights = [luminance(shade(i / 20)) for i in range(21)]
    assert lights == sorted(lights, reverse=True) and lights[0] == pytest.approx(1.0)
    assert shade(2.0) == shade(1.0) and shade(-1.0) == shade(0.0)


def test_luminance_is_wcag_s():
    assert luminance((1, 1, 1)) == pytest.approx(1)
    assert luminance((0, 0, 0)) == 0
    assert contrast((0x76 / 255,) * 3, (1, 1, 1)) == pytest.approx(4.54, abs=0.01)


def test_widths_count_blanks_and_add_up(face):
    assert face.width(" ") > 1
    assert face.width("") == 0
    apart, together = face.width("chest") + face.width(" ") + face.width("pain"), "chest pain"
    assert face.width(together) == pytest.approx(apart, abs=1.0)


def test_only_what_the_font_has_is_drawn(face):
    assert face.printable("é $5 לא\u200b\u202e\x07") == "é $5 לא"
    assert face.printable("頭\U0001f44d\U0001f3fd") == "\u25a1\u25a1"
    assert face.printable("❤\ufe0f") == "❤"


def test_headings_are_cut_to_their_width(face):
    cut = face.cut("a very long name of a label", 60)
    assert cut.endswith("\u2026") and face.width(cut) <= 60
    assert face.cut("short", 60) == "short"
