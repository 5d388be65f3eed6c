"""Where label vectors start."""

import pytest
import torch

from attending.parts.label_states import build_learned
from attending.records import Label, LabelSet
from attending.specs import LearnedLabelStates

LABELS = LabelSet(
    (
        Label("urgent", keywords=("chest pain", "bleeding")),
        Label("partly", keywords=("dizziness", "\u6f22\u5b57")),
        Label("unknown", keywords=("\u6f22\u5b57",)),
        Label("bare"),
    )
)


def word(encoder, *words):
    ids = [encoder.tokenizer.convert_tokens_to_ids(w) for w in words]
    assert encoder.tokenizer.unk_token_id not in ids
    return encoder.word_embeddings.weight.detach()[ids]


@pytest.fixture
def learned(encoder):
    torch.manual_seed(0)
    return build_learned(LearnedLabelStates(), encoder=encoder, labels=LABELS)


def test_a_label_is_the_mean_of_its_phrases(learned, encoder):
    """Each phrase counts once, however many word pieces it has: a mean of means."""
    states = learned().states
    chest_pain = word(encoder, "chest", "pain").mean(dim=0)
    bleeding = word(encoder, "bleeding")[0]
    torch.testing.assert_close(states[0], (chest_pain + bleeding) / 2)
    assert not torch.allclose(states[0], word(encoder, "chest", "pain", "bleeding").mean(dim=0))
    torch.testing.assert_close(states[1], word(encoder, "dizziness")[0])


def test_what_could_not_start_from_keywords_is_said(learned):
    assert learned.notes == (
        'label "partly": 1 of 2 keywords unknown to the encoder',
        'label "unknown": 1 of 1 keywords unknown to the encoder',
        'label "unknown": no known keyword, its vector starts at random',
        'label "bare": no known keyword, its vector starts at random',
    )


def test_random_vectors_have_the_encoder_s_own_scale(encoder):
    torch.manual_seed(0)
    many = LabelSet.from_ids([f"l{i}" for i in range(400)])
    spec = LearnedLabelStates(init="random")
    part = build_learned(spec, encoder=encoder, labels=many)
    assert part().states.std().item() == pytest.approx(encoder.config.initializer_range, rel=0.03)
    assert part().states.mean().item() == pytest.approx(0, abs=0.01)
    assert part.notes == ()


def test_random_ignores_keywords(encoder):
    spec = LearnedLabelStates(init="random")
    torch.manual_seed(1)
    first = build_learned(spec, encoder=encoder, labels=LABELS)().states
    torch.manual_seed(2)
    second = build_learned(spec, encoder=encoder, labels=LABELS)().states
    assert (first != second).all()


def test_vectors_are_trained_and_copied_from_the_table(learned, encoder):
    assert [(n, p.requires_grad) for n, p in learned.named_parameters()] == [("vectors", True)]
    start = encoder.word_embeddings.weight.detach().clone()
    with torch.no_grad():
        learned.vectors += 1
    assert torch.equal(encoder.word_embeddings.weight, start)


def test_narrow_tables_are_widened(encoder_of):
    encoder = encoder_of("electra")
    states = build_learned(LearnedLabelStates(), encoder=encoder, labels=LABELS)().states
    assert states.shape == (4, encoder.width)
    project = encoder.model.embeddings_project
    bleeding = project(word(encoder, "bleeding"))[0]
    chest_pain = project(word(encoder, "chest", "pain")).mean(dim=0)
    torch.testing.assert_close(states[0], (chest_pain + bleeding) / 2)
    assert states.is_leaf


def test_a_keyword_is_read_as_inside_a_text(encoder_of):
    """Byte-level tokenizers have other pieces for a word at the very start of a text."""
    encoder = encoder_of("roberta")
    inside = encoder.tokenizer("no bleeding", add_special_tokens=False)["input_ids"]
    start = encoder.tokenizer("no", add_special_tokens=False)["input_ids"]
    assert inside[: len(start)] == start
    pieces = inside[len(start) :]
    assert pieces != encoder.tokenizer("bleeding", add_special_tokens=False)["input_ids"]
    labels = LabelSet((Label("urgent", keywords=("bleeding",)),))
    states = build_learned(LearnedLabelStates(), encoder=encoder, labels=labels)().states
    torch.testing.assert_close(states[0], encoder.word_embeddings.weight[pieces].mean(dim=0))
