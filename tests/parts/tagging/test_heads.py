import pytest
import torch

from attending.parts.tagging.heads import TokenLabel, TokenLinear
from attending.tags import TagSet
from attending.tensors import LabelStates

STATES = torch.randn(6, 8, generator=torch.Generator().manual_seed(1))
VECTORS = torch.randn(3, 8, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("layered", [False, True])
@pytest.mark.parametrize("begins", [False, True])
def test_shapes(layered, begins):
    tags = TagSet(("a", "b", "c"), begins, layered)
    assert TokenLinear(8, tags, 0.0)(STATES).shape == (6, *tags.shape)
    for attend in (False, True):
        head = TokenLabel(8, tags, 0.0, attend, own=True)
        assert head(STATES, LabelStates(VECTORS)).shape == (6, *tags.shape)


@pytest.mark.parametrize("attend", [False, True])
def test_labels_of_one_meaning_score_the_same_at_the_start(attend):
    tags = TagSet(("a", "b", "c"))
    vectors = torch.stack([VECTORS[0], VECTORS[1], VECTORS[0]])
    head = TokenLabel(8, tags, 0.0, attend, own=True).eval()
    logits = head(STATES, LabelStates(vectors))[:, 0]
    assert torch.allclose(logits[:, 1:3], logits[:, 5:7], atol=1e-6)
    assert not torch.allclose(logits[:, 1:3], logits[:, 3:5], atol=1e-3)


def test_meaning_alone_scores_a_label_that_was_never_trained():
    tags, more = TagSet(("a", "b")), TagSet(("a", "b", "c"))
    head = TokenLabel(8, tags, 0.0, attend=False, own=False)
    before = head(STATES, LabelStates(VECTORS[:2]))
    head.tags = more
    after = head(STATES, LabelStates(VECTORS))
    assert torch.allclose(after[..., :5], before, atol=1e-6) and after.shape[-1] == 7


def test_a_word_may_attend_to_none_of_the_labels():
    head = TokenLabel(8, TagSet(("a",)), 0.0, attend=True, own=False).eval()
    with torch.no_grad():
        head.query.weight.zero_()
        head.query.bias.copy_(torch.full((8,), 50.0))
        head.none.fill_(1.0)
        vectors = -torch.ones(1, 8)
        found = head._attended(STATES, vectors)
    assert torch.allclose(found, head.norm(STATES), atol=1e-5)
