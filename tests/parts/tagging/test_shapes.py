import pytest
import torch

from attending.errors import RecipeError
from attending.parts.encoders import build_pretrained
from attending.parts.light_encoders import build_bilstm
from attending.parts.tagging.shapes import (
    SHAPES,
    AddedShapes,
    build_capitals,
    is_uncased,
    shape_of,
    shapes_under,
)
from attending.recipe import Recipe
from attending.specs import Capitals


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("all", "lower"),
        ("ALL", "CAPITALS"),
        ("Mg", "Capital"),
        ("mRNA", "mIxed"),
        ("HbA1c", "mIxed"),
        ("P53", "C"),
        ("T", "C"),
        ("t", "lower"),
        ("IL2RA", "CAPITALS"),
        ("2024", "digits"),
        ("½", "other"),
        ("Ärzte", "Capital"),
        ("ΑΒ", "CAPITALS"),
        ("ǅ", "C"),
        ("胃", "lower"),
    ],
)
def test_shapes_of_words(word, shape):
    assert SHAPES[shape_of(word)] == shape


def test_a_piece_has_the_shape_of_the_word_that_it_starts_in():
    text = "APC-gene, 5 mg\U0001f600Na\u0301"
    spans = [(0, 1), (1, 3), (3, 4), (4, 8), (8, 9), (10, 11), (12, 14), (14, 15), (15, 18), (3, 3)]
    found = [SHAPES[s] for s in shapes_under(text, spans)]
    assert found == [
        "CAPITALS", "CAPITALS", "other", "lower", "other", "digits", "lower", "other", "Capital",
        "other",
    ]  # fmt: skip


def test_shapes_are_added_where_there_are_any():
    added = AddedShapes(4)
    words = torch.randn(2, 3, 4)
    shapes = torch.tensor([[0, 3, 5], [0, 0, 1]])
    assert torch.equal(added(words, shapes), words)  # training starts from the encoder as it is
    with torch.no_grad():
        added.vectors.weight[5] = 1.0
    assert torch.equal(added(words, shapes)[0, 2], words[0, 2] + 1)
    assert torch.equal(added(words, shapes)[1], words[1])


@pytest.mark.parametrize(("when", "cased", "uncased"), [
    ("uncased", False, True), ("always", True, True), ("never", False, False),
])  # fmt: skip
def test_only_an_encoder_that_folds_case_needs_them(when, cased, uncased, tiny_encoder):
    spec = Recipe.load("atl-ner").with_encoder(str(tiny_encoder))["encoder"]
    encoder = build_pretrained(spec)
    assert (build_capitals(Capitals(when=when), encoder=encoder) is not None) == uncased
    assert is_uncased(encoder.tokenizer)
    encoder.tokenizer.backend_tokenizer.normalizer.lowercase = False
    assert not is_uncased(encoder.tokenizer)
    assert (build_capitals(Capitals(when=when), encoder=encoder) is not None) == cased


def test_encoders_that_take_no_vectors_are_refused():
    light = {"encoder.dimension": 8, "encoder.min_count": 1}
    spec = Recipe.load("crf-ner").override(light)["encoder"]
    encoder = build_bilstm(spec, texts=["chest pain since monday"] * 3, seed=0)
    with pytest.raises(RecipeError, match="needs a pretrained encoder"):
        build_capitals(Capitals(), encoder=encoder)
