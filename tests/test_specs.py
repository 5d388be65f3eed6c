"""Specs: frozen, validated, documented."""

import pytest
from pydantic import ValidationError

from attending import registry, specs
from attending.specs import CrossEntropy, LesaAttention, PretrainedEncoder, Spec, Training, Windows

KINDS = [
    kind
    for kind in vars(specs).values()
    if isinstance(kind, type)
    and issubclass(kind, Spec)
    and not kind.model_fields["kind"].is_required()  # a base of several kinds has no name
]


def test_every_spec_is_registered_once():
    registered = [p.spec for kinds in registry.parts().values() for p in kinds.values()]
    assert set(KINDS) <= set(registered)
    assert len(KINDS) >= 17 and len(registered) == len(set(registered))


@pytest.mark.parametrize("kind", KINDS)
def test_every_spec_has_defaults_a_slot_a_kind_and_a_purpose(kind):
    made = kind()
    assert made.slot and made.kind and kind.__doc__.strip().endswith(".")
    assert isinstance(made.needs(), tuple)
    assert kind.model_validate(made.model_dump(mode="json")) == made
    assert hash(made) == hash(kind())


@pytest.mark.parametrize("kind", KINDS)
def test_specs_are_frozen_and_know_their_settings(kind):
    with pytest.raises(ValidationError):
        kind().kind = "other"
    with pytest.raises(ValidationError, match="Extra inputs"):
        kind(no_such_setting=1)
    with pytest.raises(ValidationError):
        kind(kind="no such kind")


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_and_choices_say_what_they_are(kind):
    """The words are shown by ``attending recipes show``."""
    bare = [
        name
        for name, field in kind.model_fields.items()
        if name != "kind" and not field.description
    ]
    assert set(bare) <= {"dropout", "lowercase", "label_smoothing", "epochs", "stop_words"}


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (PretrainedEncoder, {"layers": 0}),
        (PretrainedEncoder, {"dropout": 1.0}),
        (PretrainedEncoder, {"attention_dropout": -0.1}),
        (PretrainedEncoder, {"word_embeddings": "half"}),
        (LesaAttention, {"layers": "some"}),
        (LesaAttention, {"layers": ()}),
        (Windows, {"max_tokens": 3}),
        (Windows, {"overlap": -1}),
        (Windows, {"on_overflow": "cut"}),
        (Training, {"epochs": 0}),
        (Training, {"batch_size": 0}),
        (Training, {"learning_rate": 0}),
        (Training, {"learning_rate": float("inf")}),
        (Training, {"warmup": 1.1}),
        (Training, {"precision": "float16"}),
        (Training, {"patience": 0}),
        (CrossEntropy, {"label_smoothing": 1.0}),
        (CrossEntropy, {"label_loss": -1}),
    ],
)
def test_values_out_of_range(kind, settings):
    with pytest.raises(ValidationError):
        kind(**settings)


def test_what_needs_label_vectors():
    assert LesaAttention().needs() == ("label_states",)
    assert CrossEntropy().needs() == ()
    assert CrossEntropy(label_loss=5.0).needs() == ("label_states",)
