"""Pretrained encoders: limits, layers, dropouts, and everything that can be wrong with them."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoTokenizer

from attending.data.windows import Windower
from attending.errors import EncoderError
from attending.parts.encoders import Limits, build_pretrained, describe, limits
from attending.specs import PretrainedEncoder, Windows

FAMILIES = ("bert", "roberta", "electra", "distilbert")


@pytest.fixture
def copy(tiny_encoder, tmp_path):
    """A tiny BERT of its own for a test that damages it."""
    folder = tmp_path / "encoder"
    shutil.copytree(tiny_encoder, folder)
    return folder


def build(folder, **settings):
    return build_pretrained(PretrainedEncoder(name=str(folder), **settings)).eval()


def refused(folder, **settings):
    with pytest.raises(EncoderError) as caught:
        build(folder, **settings)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{folder}: ")
    return line


def change_config(folder, **values):
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8")) | values
    path.write_text(json.dumps(config), encoding="utf-8")


# Limits.


@pytest.fixture
def unlimited(case, tiny_encoder, tmp_path):
    """An encoder whose tokenizer states no limit, with 512 positions, and a long text."""
    given = case("D21")
    tokenizer_config = json.loads((tiny_encoder / "tokenizer_config.json").read_text("utf-8"))
    tokenizer_config.pop("model_max_length")
    tokenizer_config |= {"do_lower_case": True}
    shutil.copytree(tiny_encoder, tmp_path / "encoder")
    (tmp_path / "encoder" / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
    shipped = json.loads((given / "model" / "config.json").read_text(encoding="utf-8"))
    assert "model_max_length" not in (given / "model" / "tokenizer_config.json").read_text("utf-8")
    sizes = json.loads((tiny_encoder / "config.json").read_text(encoding="utf-8")) | shipped
    config = AutoConfig.for_model(sizes.pop("model_type"), **sizes)
    AutoModel.from_config(config).save_pretrained(tmp_path / "encoder")
    expected = json.loads((given / "expected.json").read_text(encoding="utf-8"))["values"]
    return tmp_path / "encoder", (given / "text.txt").read_text(encoding="utf-8"), expected


def test_a_tokenizer_without_a_limit(unlimited):
    folder, text, expected = unlimited
    encoder = build(folder)
    assert encoder.limits.tokenizer == expected["reported_limit"]
    assert encoder.limits.effective == expected["effective_limit"]
    assert describe(PretrainedEncoder(name=str(folder))) == encoder.limits
    windower = Windower(
        Windows(max_tokens=10**6), tokenizer=encoder.tokenizer, limit=encoder.limits.effective
    )
    (windowed,) = windower([text])
    assert len(text.split()) == windowed.read.of == windowed.read.tokens == 700
    assert [len(w.ids) for w in windowed.windows] == [512, 224]
    with torch.no_grad():
        for window in windowed.windows:
            ids = torch.tensor([window.ids])
            assert torch.isfinite(encoder(ids, ids >= 0).states).all()


def test_truncating_is_said(unlimited):
    folder, text, _ = unlimited
    encoder = build(folder)
    spec = Windows(max_tokens=512, on_overflow="truncate")
    windower = Windower(spec, tokenizer=encoder.tokenizer, limit=encoder.limits.effective)
    read = windower([text])[0].read
    assert (read.tokens, read.of, read.windows, read.truncated) == (510, 700, 1, True)


@pytest.mark.parametrize("family", FAMILIES)
def test_positions_are_what_the_model_can_number(family, make_tiny, encoder_of):
    encoder = encoder_of(family)
    assert encoder.limits.positions == 64
    ids = torch.full((1, 64), 9)
    mask = torch.ones(1, 64, dtype=torch.bool)
    with torch.no_grad():
        assert torch.isfinite(encoder(ids, mask).states).all()
        with pytest.raises((IndexError, RuntimeError)):
            encoder(torch.full((1, 65), 9), torch.ones(1, 65, dtype=torch.bool))


@pytest.mark.parametrize(
    ("tokenizer", "positions", "wanted", "effective"),
    [(10**30, 512, None, 512), (128, 512, 256, 128), (128, 64, 256, 64), (512, 512, 32, 32)],
)
def test_the_smallest_limit_counts(tokenizer, positions, wanted, effective):
    assert Limits(tokenizer, positions, wanted).effective == effective


def test_roberta_positions_start_after_padding(make_tiny):
    folder = make_tiny("roberta")
    config = AutoConfig.from_pretrained(folder)
    assert config.max_position_embeddings == 66
    assert limits(config, AutoTokenizer.from_pretrained(folder)).positions == 64


# Building.


@pytest.mark.parametrize("family", FAMILIES)
def test_equals_the_library_s_own_encoder(family, make_tiny, encoder_of, padded):
    encoder = encoder_of(family)
    ids, mask = padded(encoder)
    own = AutoModel.from_pretrained(make_tiny(family), attn_implementation="sdpa").eval()
    with torch.no_grad():
        expected = own(input_ids=ids, attention_mask=mask).last_hidden_state
        found = encoder(ids, mask)
    assert torch.equal(found.states, expected)
    assert torch.equal(found.mask, mask)
    assert (encoder.family, encoder.width, encoder.layers) == (family, 32, 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_layers_are_the_full_model_cut_off(family, make_tiny, encoder_of, padded):
    full = encoder_of(family)
    first = build(make_tiny(family), layers=1)
    ids, mask = padded(full)
    with torch.no_grad():
        hidden = full.model(ids, attention_mask=mask, output_hidden_states=True).hidden_states
        assert torch.equal(first(ids, mask).states, hidden[1])
        assert not torch.equal(hidden[1], hidden[2])
    assert first.layers == 1
    assert not any("layer.1." in name for name in first.state_dict())


def test_more_layers_than_there_are(tiny_encoder):
    line = refused(tiny_encoder, layers=3)
    assert "encoder.layers = 3 is more than the encoder has (found 2 layers)" in line


@pytest.mark.parametrize("family", FAMILIES)
def test_dropouts_by_recipe(family, make_tiny):
    def rates(**settings):
        encoder = build(make_tiny(family), **settings)
        config = encoder.config
        attention = getattr(config, "attention_probs_dropout_prob", None)
        attention = config.attention_dropout if attention is None else attention
        modules = {m.p for m in encoder.modules() if isinstance(m, torch.nn.Dropout)}
        return attention, modules

    attention, modules = rates()
    assert attention == 0.0
    assert 0.1 in modules, "hidden dropout stays as the encoder was pretrained"
    attention, modules = rates(dropout=0.25, attention_dropout=0.4)
    assert attention == 0.4
    assert modules == {0.25, 0.4}


def test_frozen_word_embeddings_get_no_gradient(tiny_encoder, padded):
    encoder = build(tiny_encoder, word_embeddings="frozen")
    ids, mask = padded(encoder)
    encoder(ids, mask).states[..., 0].sum().backward()
    still = [n for n, p in encoder.named_parameters() if not p.requires_grad]
    assert still == ["model.embeddings.word_embeddings.weight"]
    assert encoder.word_embeddings.weight.grad is None
    assert encoder.model.embeddings.position_embeddings.weight.grad is not None


def test_weights_are_float32_even_if_saved_in_half(copy):
    path = copy / "model.safetensors"
    save_file({k: v.half() for k, v in load_file(path).items()}, path, metadata={"format": "pt"})
    change_config(copy, dtype="float16")
    assert {p.dtype for p in build(copy).parameters()} == {torch.float32}


def test_an_untrained_encoder_has_the_same_shape_and_no_pooler(tiny_encoder, encoder):
    empty = build_pretrained(PretrainedEncoder(name="elsewhere"), folder=tiny_encoder)
    assert {k: v.shape for k, v in empty.state_dict().items()} == {
        k: v.shape for k, v in encoder.state_dict().items()
    }
    assert not torch.equal(empty.word_embeddings.weight, encoder.word_embeddings.weight)
    assert empty.name == "elsewhere"


def test_building_shows_no_progress_bar(tiny_encoder, capfd):
    build(tiny_encoder)
    assert capfd.readouterr() == ("", "")


# What can be wrong.


def test_missing_weights_are_named(copy):
    path = copy / "model.safetensors"
    weights = load_file(path)
    for name in ("encoder.layer.1.output.dense.weight", "encoder.layer.0.output.dense.bias"):
        del weights[name]
    save_file(weights, path, metadata={"format": "pt"})
    line = refused(copy)
    assert "2 weights are missing, the first is encoder.layer.0.output.dense.bias" in line


def test_a_missing_pooler_is_no_fault(copy):
    path = copy / "model.safetensors"
    weights = {k: v for k, v in load_file(path).items() if "pooler" not in k}
    save_file(weights, path, metadata={"format": "pt"})
    assert build(copy).layers == 2


@pytest.mark.parametrize("damage", ["gone", "cut short", "not weights", "other shape"])
def test_damaged_weights(copy, damage):
    path = copy / "model.safetensors"
    if damage == "gone":
        path.unlink()
    elif damage == "cut short":
        path.write_bytes(path.read_bytes()[:2000])
    elif damage == "not weights":
        path.write_bytes(b"hello")
    else:
        change_config(copy, hidden_size=64)
    assert "the weights can't be read" in refused(copy)


@pytest.mark.parametrize("content", ["{", "[]", "{}", ""])
def test_a_damaged_configuration(copy, content):
    (copy / "config.json").write_text(content, encoding="utf-8")
    assert "the configuration can't be read" in refused(copy)


def test_a_folder_that_is_no_encoder(tmp_path):
    assert "the folder holds no config.json" in refused(tmp_path)


@pytest.mark.parametrize("content", [None, "{"])
def test_a_damaged_tokenizer(copy, content):
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (copy / file).unlink()
    if content is not None:
        (copy / "tokenizer.json").write_text(content, encoding="utf-8")
    assert "tokenizer" in refused(copy)
    with pytest.raises(EncoderError, match="tokenizer"):
        describe(PretrainedEncoder(name=str(copy)))


def test_the_tokenizer_of_another_model(copy):
    change_config(copy, vocab_size=100)
    line = refused(copy)
    assert "of another model" in line and "for 100 rows of word embeddings" in line


def test_a_folder_that_is_not_there(tmp_path):
    line = refused(tmp_path / "nowhere")
    assert "no such encoder folder" in line and "minilm (bundled)" in line
