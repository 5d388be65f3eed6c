"""Settings of further pretraining: which there are, and what is said of a wrong one."""

import pytest

from attending.errors import RecipeError
from attending.specs import Training
from attending.specs.pretraining import SETTABLE, Pretraining


def test_what_may_be_set_exists_and_is_described():
    made = Pretraining()
    for slot, names in SETTABLE.items():
        fields = type(getattr(made, slot)).model_fields
        assert all(fields[name].description for name in names)
    assert set(SETTABLE["training"]) <= set(Training.model_fields)


def test_settings_are_replaced_and_shown():
    made = Pretraining().with_encoder("./e").override({"masking.share": 0.3, "training.epochs": 1})
    assert (made.encoder.name, made.masking.share, made.training.epochs) == ("./e", 0.3, 1.0)
    table = made.to_table()
    assert table["masking"] == {"share": 0.3, "whole_words": False}
    assert list(table) == list(SETTABLE)


def test_windows_do_not_overlap():
    assert Pretraining().override({"windows.max_tokens": 100}).windows.overlap == 0


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"masking.shar": 0.3}, ['"masking.shar"', 'Did you mean "masking.share"']),
        ({"training.evidence_loss": 1}, ['"training.evidence_loss"', "training.epochs"]),
        ({"head.dense": True}, ['"head.dense"', "allowed: encoder.layers"]),
        ({"masking.share": 1.5}, ['"masking.share"', "less than 1", "1.5"]),
        ({"training.epochs": 0, "windows.max_tokens": 1}, ["training.epochs", "windows.max_tok"]),
        ({"masking.whole_words": "perhaps"}, ["masking.whole_words", "perhaps"]),
    ],
)
def test_a_wrong_setting_is_named(settings, parts):
    with pytest.raises(RecipeError) as caught:
        Pretraining().override(settings)
    assert str(caught.value).startswith("pretraining: ")
    for part in parts:
        assert part in str(caught.value)
