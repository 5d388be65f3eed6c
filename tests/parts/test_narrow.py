"""Feed-forward layers with fewer units: the heaviest stay, in their order."""

import pytest
import torch

from attending.errors import EncoderError
from attending.models.store import load_model, save_model
from attending.parts.encoders import build_pretrained
from attending.specs import PretrainedEncoder
from attending.training.distil import distil, student_recipe
from attending.training.fit import fit

FAMILIES = ("bert", "roberta", "electra", "distilbert")


def layers_of(encoder):
    pairs = []
    for name, module in encoder.model.named_modules():
        if name.endswith(("intermediate.dense", ".lin1")):
            pairs.append([module])
        elif name.endswith((".lin2", "output.dense")) and "attention" not in name:
            pairs[-1].append(module)
    return pairs


@pytest.mark.parametrize("family", FAMILIES)
def test_the_heaviest_units_stay_in_their_order(family, make_tiny):
    name = str(make_tiny(family))
    whole = build_pretrained(PretrainedEncoder(name=name)).eval()
    small = build_pretrained(PretrainedEncoder(name=name, ffn=24)).eval()
    assert layers_of(whole) and len(layers_of(whole)) == len(layers_of(small))
    for (inner, outer), (less, after) in zip(layers_of(whole), layers_of(small), strict=True):
        weights = [
            (inner.weight[i].norm() * outer.weight[:, i].norm()).item()
            for i in range(inner.out_features)
        ]
        kept = sorted(sorted(range(len(weights)), key=weights.__getitem__, reverse=True)[:24])
        assert torch.equal(less.weight, inner.weight[kept])
        assert torch.equal(less.bias, inner.bias[kept])
        assert torch.equal(after.weight, outer.weight[:, kept])
        assert torch.equal(after.bias, outer.bias)
        assert (less.out_features, after.in_features) == (24, 24)
    ids, mask = torch.arange(5, 11)[None], torch.ones(1, 6, dtype=torch.bool)
    assert small(ids, mask).states.shape == whole(ids, mask).states.shape


def test_all_units_are_the_encoder_itself(tiny_encoder):
    whole = build_pretrained(PretrainedEncoder(name=str(tiny_encoder))).eval()
    size = whole.config.intermediate_size
    same = build_pretrained(PretrainedEncoder(name=str(tiny_encoder), ffn=size)).eval()
    ids, mask = torch.arange(5, 11)[None], torch.ones(1, 6, dtype=torch.bool)
    assert torch.equal(same(ids, mask).states, whole(ids, mask).states)


def test_more_than_there_are_is_refused(tiny_encoder):
    with pytest.raises(EncoderError, match="ffn = 4096 is more than the encoder has"):
        build_pretrained(PretrainedEncoder(name=str(tiny_encoder), ffn=4096))


def test_a_frozen_encoder_stays_frozen(tiny_encoder):
    small = build_pretrained(PretrainedEncoder(name=str(tiny_encoder), ffn=8, frozen=True))
    assert not any(p.requires_grad for p in small.parameters())


def test_a_narrow_student_learns_is_saved_and_loaded(tiny_recipe, messages, urgency, tmp_path):
    teacher = fit(tiny_recipe("lesa-bert"), messages, urgency, development=messages[:8]).model
    recipe = student_recipe(teacher.recipe, 1).override({"encoder.ffn": 8})
    done = distil(teacher, recipe, messages, development=messages[:8]).model
    assert done.recipe["distillation"].start == "teacher"
    assert {p.out_features for p, _ in layers_of(done.network.encoder)} == {8}
    loaded = load_model(save_model(done, tmp_path / "student"))
    assert loaded.network.encoder.config.intermediate_size == 8
    assert loaded.predict(messages) == done.predict(messages)
    too_wide = student_recipe(loaded.recipe, 1).override({"encoder.ffn": 16})
    with pytest.raises(EncoderError, match="ffn = 16 is more than the encoder has"):
        distil(loaded, too_wide, messages, development=messages[:8])
