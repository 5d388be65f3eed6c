"""The mixture of network and words: where it starts, what it can learn, what it takes."""

import math

import numpy as np
import pytest
import torch

from attending.errors import ShapeError
from attending.parts.lexical import LexicalScores
from attending.parts.lexical_mixture import LexicalMixture, build_mixture, matches_of
from attending.specs import LexicalSurfaces

COUNTS = np.array([[0, 3, 100, 1], [0, 2, 90, 0]], np.float32)
SCORES = LexicalScores(
    indptr=np.array([0, 2, 2, 3]),
    labels=np.array([0, 2, 3], np.int32),
    values=np.array([1.5, -0.5, 4.0], np.float32),
    silent=np.array([[-9, -5, -1, -7], [-9, -6, -1, -8]], np.float32),
    counts=COUNTS,
    view=np.array([0, 1, 1]),
)


def dense_mixture(mixture, logits, rows):
    """The mixture pair by pair, in plain Python."""
    lines = (mixture.start + 10 * mixture.lines).tolist()
    out = np.zeros(logits.shape)
    for i, row in enumerate(rows):
        cells = range(SCORES.indptr[row], SCORES.indptr[row + 1])
        found = {int(SCORES.labels[c]): float(SCORES.values[c]) for c in cells}
        for label in range(logits.shape[1]):
            known = math.log(0.3 + COUNTS[SCORES.view[row], label])
            score = found.get(label, float(SCORES.silent[SCORES.view[row], label]))
            gate, trust, offset = (a + b * known for a, b in (x[label in found] for x in lines))
            gate = 1 / (1 + math.exp(-gate)) if mixture.gated else 1.0
            out[i, label] = gate * float(logits[i, label]) + math.exp(trust) * score + offset
    return out


@pytest.mark.parametrize("halfway", [3.0, None])
@pytest.mark.parametrize("rows", [(0, 1, 2), (2,), (1, 1), (2, 0)])
def test_it_is_what_its_formula_says(halfway, rows):
    torch.manual_seed(0)
    mixture = LexicalMixture(0.7, halfway)
    torch.nn.init.normal_(mixture.lines, std=0.03)
    logits = torch.randn(len(rows), 4)
    with torch.no_grad():
        found = mixture(logits, matches_of(SCORES, rows))
    assert found.numpy() == pytest.approx(dense_mixture(mixture, logits, rows), abs=1e-4)


def test_it_starts_as_the_words_beside_a_silent_network():
    mixed = LexicalMixture()(torch.zeros(3, 4), matches_of(SCORES, (0, 1, 2)))
    assert mixed.detach().numpy() == pytest.approx(SCORES.dense(), abs=1e-6)


def test_at_first_the_network_counts_the_more_the_more_documents_a_label_has():
    words = matches_of(SCORES, (0,))
    heard = LexicalMixture(halfway=3.0)(torch.ones(1, 4), words) - LexicalMixture()(
        torch.zeros(1, 4), words
    )
    by_count = heard[0, [0, 3, 1, 2]].tolist()
    assert by_count == pytest.approx([n / (n + 3) for n in (0.3, 1.3, 3.3, 100.3)], abs=1e-5)


def test_all_of_it_can_be_learned():
    mixture = LexicalMixture()
    logits = torch.randn(3, 4, requires_grad=True)
    mixture(logits, matches_of(SCORES, (0, 1, 2))).square().sum().backward()
    assert bool((mixture.lines.grad != 0).all())
    assert bool((logits.grad != 0).all())


def test_rows_without_any_match():
    words = matches_of(SCORES, (1,))
    assert words.document.numel() == 0 and words.silent.shape == (1, 4)
    assert LexicalMixture()(torch.zeros(1, 4), words)[0].tolist() == [-9, -6, -1, -8]


def test_matches_hold_only_the_views_that_looked():
    assert matches_of(SCORES, (1, 2)).silent.tolist() == SCORES.silent[1:].tolist()
    assert matches_of(SCORES, (2, 0)).view.tolist() == [1, 0]


def test_other_documents_are_refused():
    with pytest.raises(ShapeError, match="don't fit the logits"):
        LexicalMixture()(torch.zeros(2, 4), matches_of(SCORES, (0,)))
    with pytest.raises(ShapeError, match="don't fit the logits"):
        LexicalMixture()(torch.zeros(1, 5), matches_of(SCORES, (0,)))


def test_settings():
    assert build_mixture(LexicalSurfaces(weight=0)) is None
    assert build_mixture(LexicalSurfaces(gate="none")).gated is False
    assert LexicalMixture(2.0).start[1].tolist() == [[pytest.approx(math.log(2)), 0]] * 2
