"""Where label vectors start."""

import pytest
import torch

from attending.parts.label_states import build_hierarchical, build_learned
from attending.records import Label, LabelSet
from attending.specs import HierarchicalLabelStates, LearnedLabelStates

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


def test_a_label_may_start_from_its_description(encoder):
    labels = LabelSet(
        (
            Label("a", description="severe chest pain"),
            Label("b", name="leg swelling"),
            Label("c", description="\u6f22\u5b57"),
            Label("d"),
        )
    )
    torch.manual_seed(0)
    part = build_learned(LearnedLabelStates(init="description"), encoder=encoder, labels=labels)
    states = part().states
    torch.testing.assert_close(states[0], word(encoder, "severe", "chest", "pain").mean(dim=0))
    torch.testing.assert_close(states[1], word(encoder, "leg", "swelling").mean(dim=0))
    assert part.notes == (
        'label "c": no known description, its vector starts at random',
        'label "d": no known description, its vector starts at random',
    )


def test_many_notes_become_one(encoder):
    bare = [Label(f"l{i}") for i in range(40)]
    labels = LabelSet((*bare, Label("x", keywords=("bleeding",))))
    part = build_learned(LearnedLabelStates(), encoder=encoder, labels=labels)
    assert part.notes == ("40 of 41 labels have no known keyword and start at random",)


@pytest.mark.parametrize("init", ["keywords", "description", "random", "xavier"])
def test_vectors_are_as_wide_as_label_attention_wants(init, encoder):
    torch.manual_seed(0)
    spec = LearnedLabelStates(init=init)
    part = build_learned(spec, encoder=encoder, labels=LABELS, width=7)
    assert part().states.shape == (4, 7)
    words = init in ("keywords", "description")
    assert bool(part.notes) == words
    if words:
        assert "width 7 can't start from word vectors of another width" in part.notes[0]


def test_a_width_of_the_word_table_itself_is_taken_unwidened(encoder_of):
    encoder = encoder_of("electra")
    narrow = encoder.word_embeddings.weight.shape[1]
    assert narrow != encoder.width
    part = build_learned(LearnedLabelStates(), encoder=encoder, labels=LABELS, width=narrow)
    torch.testing.assert_close(part().states[1], word(encoder, "dizziness")[0])


def test_scales_of_chance(encoder):
    many = LabelSet.from_ids([f"l{i}" for i in range(300)])
    torch.manual_seed(0)
    spec = LearnedLabelStates(init="random", spread=0.03)
    part = build_learned(spec, encoder=encoder, labels=many, width=60)
    assert part().states.std().item() == pytest.approx(0.03, rel=0.05)
    spec = LearnedLabelStates(init="xavier")
    part = build_learned(spec, encoder=encoder, labels=many, width=60)
    assert part().states.abs().max().item() == pytest.approx((6 / 360) ** 0.5, rel=0.01)


def test_the_batch_s_targets_change_no_vector(learned):
    assert torch.equal(learned(torch.tensor([1, 0])).states, learned().states)


TREE = LabelSet(
    (
        Label("leaf", parent="branch"),
        Label("branch", parent="root"),
        Label("twig", parent="branch"),
        Label("alone"),
    ),
    broader=(Label("root", parent="wood"), Label("wood"), Label("unused")),
)


def hierarchical(encoder, labels=TREE, **settings):
    torch.manual_seed(0)
    spec = HierarchicalLabelStates(init="random", **settings)
    return build_hierarchical(spec, encoder=encoder, labels=labels, width=5)


def test_a_label_is_its_own_vector_plus_the_mean_of_its_ancestors(encoder):
    part = hierarchical(encoder)
    leaf, branch, twig, alone = part.vectors
    root, wood = part.above  # in the order of ids; what no label is a kind of has none
    states = part().states
    torch.testing.assert_close(states[0], leaf + (branch + root + wood) / 3)
    torch.testing.assert_close(states[1], branch + (root + wood) / 2)
    torch.testing.assert_close(states[2], twig + (branch + root + wood) / 3)
    torch.testing.assert_close(states[3], alone)
    assert part.notes == ()


def test_a_label_without_rows_learns_from_its_siblings(encoder):
    part = hierarchical(encoder)
    part().states[0].sum().backward()
    with torch.no_grad():
        before = part().states.clone()
        for parameter in (part.vectors, part.above):
            parameter -= parameter.grad
        moved = (part().states - before).abs().amax(dim=1)
    assert (moved[:3] > 0.01).all() and moved[3] == 0


def test_hierarchies_follow_the_order_of_labels(encoder):
    order = [2, 3, 0, 1]
    turned = LabelSet(tuple(TREE[i] for i in order), broader=TREE.broader[::-1])
    part, other = hierarchical(encoder), hierarchical(encoder, turned)
    state = part.state_dict()
    assert set(state) == {"vectors", "above"}
    other.load_state_dict({"vectors": state["vectors"][order], "above": state["above"]})
    torch.testing.assert_close(other().states, part().states[order])


def test_without_parents_a_hierarchy_is_free_vectors(encoder):
    part = hierarchical(encoder, LABELS)
    assert torch.equal(part().states, part.vectors) and part.above.shape == (0, 5)
    assert part.notes == ("no label has a parent: the hierarchy adds nothing",)


def test_labels_and_what_is_broader_may_start_from_words(encoder):
    labels = LabelSet(
        (Label("a", description="chest pain", parent="b"),),
        broader=(Label("b", description="pain"),),
    )
    spec = HierarchicalLabelStates(init="description")
    part = build_hierarchical(spec, encoder=encoder, labels=labels)
    own = word(encoder, "chest", "pain").mean(dim=0)
    torch.testing.assert_close(part().states[0], own + word(encoder, "pain")[0])
