"""Encoders with a head for hidden words."""

import json
import shutil

import numpy as np
import pytest
import torch

from attending.errors import EncoderError
from attending.specs import PretrainedEncoder
from attending.specs.pretraining import Masking
from attending.training.guesser import (
    load_guesser,
    log_loss,
    masked_loss,
    perplexity,
    start_from_frequencies,
)
from attending.training.masking import IGNORED, Masker, Passage

FAMILIES = ("bert", "roberta", "electra", "distilbert")


@pytest.fixture(params=FAMILIES)
def guesser(request, make_tiny):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return load_guesser(PretrainedEncoder(name=str(make_tiny(request.param))))


def test_only_hidden_tokens_reach_the_head(guesser):
    network = guesser.network.eval()
    ids = torch.randint(10, 200, (2, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(2, 9, dtype=torch.bool)
    chosen = torch.zeros(2, 9, dtype=torch.bool)
    chosen[0, 2] = chosen[1, 4] = chosen[1, 8] = True
    full = network(input_ids=ids, attention_mask=mask).logits
    some = network(input_ids=ids, attention_mask=mask, chosen=chosen).logits
    assert some.shape == (1, 3, full.shape[-1])
    torch.testing.assert_close(some[0], full[chosen])


def test_the_head_is_new_and_tied_to_the_word_table(guesser):
    assert guesser.fresh_head
    table = guesser.network.get_input_embeddings().weight
    assert guesser.network.get_output_embeddings().weight is table
    torch.testing.assert_close(table, guesser.encoder.word_embeddings.weight)


def test_a_new_head_starts_from_frequencies(guesser):
    passage = Passage(0, np.array([2, 50, 50, 51, 3]), np.array([-1, 0, 1, 2, -1]))
    network = guesser.network
    start_from_frequencies(network, [passage])
    share = network.get_output_embeddings().bias.exp()
    size = len(share)
    assert share[50].item() == pytest.approx(2.5 / (3 + size / 2))
    assert share[2].item() == pytest.approx(0.5 / (3 + size / 2))
    assert share.sum().item() == pytest.approx(1.0, abs=1e-4)
    parameters = {id(p) for p in network.parameters()}
    assert id(network.get_output_embeddings().bias) in parameters


def test_the_loss_weighs_every_hidden_token_alike():
    logits = torch.randn(5, 11, generator=torch.Generator().manual_seed(0))
    targets = torch.tensor([1, 2, 3, 4, 5])
    labels = torch.full((2, 4), IGNORED)
    labels[0, 1:3], labels[1, :3] = targets[:2], targets[2:]

    class Outputs:
        def __init__(self, rows):
            self.logits = rows.unsqueeze(0)

    whole = masked_loss(Outputs(logits), labels)
    parts = [
        masked_loss(Outputs(logits[:2]), labels[:1], 5),
        masked_loss(Outputs(logits[2:]), labels[1:], 5),
    ]
    torch.testing.assert_close(whole, torch.nn.functional.cross_entropy(logits, targets))
    torch.testing.assert_close(parts[0] + parts[1], whole)


def test_the_measured_loss_is_that_of_all_tokens_together(guesser):
    """A slow reference, one passage at a time with the scores of every token."""
    masker = Masker(Masking(share=0.3), guesser.encoder.tokenizer, 0)
    passages = [
        Passage(n, np.arange(20, 20 + n, dtype=np.int32), np.arange(n, dtype=np.int32))
        for n in (5, 9, 30, 12)
    ]
    guesser.network.train()
    found = log_loss(guesser.network, passages, masker, "float32")
    assert guesser.network.training
    guesser.network.eval()
    losses = []
    for passage in passages:
        batch = masker([passage], 0)
        batch.pop("chosen")
        labels = batch.pop("labels")
        scores = guesser.network(**batch).logits.log_softmax(-1)
        hidden = (labels != IGNORED).nonzero().tolist()
        losses += [-scores[row, column, labels[row, column]].item() for row, column in hidden]
    assert found == pytest.approx(sum(losses) / len(losses), abs=1e-5)


def test_perplexity():
    assert perplexity(0.0) == 1.0
    assert perplexity(np.log(20)) == pytest.approx(20)
    assert perplexity(1e9) < float("inf")


def test_a_tokenizer_without_a_mask(tiny_encoder, tmp_path):
    folder = shutil.copytree(tiny_encoder, tmp_path / "maskless")
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    settings.pop("mask_token")
    path.write_text(json.dumps(settings))
    with pytest.raises(EncoderError, match="no token to hide words with"):
        load_guesser(PretrainedEncoder(name=str(folder)))
