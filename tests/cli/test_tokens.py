"""Tokens are counted as the encoder counts them, without transformers."""

import subprocess
import sys

import pytest

from attending.cli.tokens import token_counter
from attending.data.windows import Windower
from attending.errors import EncoderError
from attending.specs import Windows

TEXTS = ["", " ", "chest pain", "Café, 38.5° and a very long story " * 20]


@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "distilbert"])
@pytest.mark.parametrize("size", [16, 256])
def test_as_training_counts(make_tiny, family, size):
    from transformers import AutoConfig, AutoTokenizer

    from attending.parts.encoders import limits

    folder = make_tiny(family)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    limit = limits(AutoConfig.from_pretrained(folder), tokenizer).effective
    windower = Windower(Windows(max_tokens=size, overlap=4), tokenizer=tokenizer, limit=limit)
    counter = token_counter(str(folder), size)
    assert counter.limit == windower.content
    visible = [text for text in TEXTS if text.strip()]
    assert counter.count(visible) == windower.count_tokens(visible)


def test_without_torch(tiny_encoder):
    code = (
        "import sys\nfrom attending.cli.tokens import token_counter\n"
        f"assert token_counter({str(tiny_encoder)!r}).count(['chest pain']) == [2]\n"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "set()", done.stderr


def test_an_encoder_that_is_not_there(tmp_path):
    with pytest.raises(EncoderError):
        token_counter(str(tmp_path / "none"))


def test_a_folder_without_a_configuration(tmp_path):
    with pytest.raises(EncoderError, match=r"config\.json"):
        token_counter(str(tmp_path))
