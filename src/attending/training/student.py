"""A student that starts from its teacher: the first layers of its encoder, its labels, its head."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from attending.errors import TrainingError
from attending.models.base import Model
from attending.models.network import Network
from attending.models.neural import NeuralModel
from attending.parts.encoders import Encoder, build_pretrained
from attending.parts.narrow import narrow
from attending.recipe import Recipe
from attending.records import LabelSet

_PARTS = ("label_states", "label_attention", "head")


def with_start(recipe: Recipe, teachers: Sequence[Model]) -> Recipe:
    """Return a student's recipe with ``distillation.start = "auto"`` settled.

    The student starts from its first teacher if that is a network on the same pretrained encoder
    that has the layers which the student wants. On the bundled messages such students come much
    nearer to their teacher than those that start from the encoder as it was pretrained (paper).
    """
    if recipe["distillation"].start != "auto":
        return recipe
    first, own = teachers[0], recipe["encoder"]
    encoder = first.recipe.get("encoder")
    fits = (
        isinstance(first, NeuralModel)
        and encoder is not None
        and own.kind == encoder.kind == "pretrained"
        and Path(own.name).name == Path(encoder.name).name
        and (
            encoder.layers is None
            if own.layers is None  # all of the encoder's, which a small teacher has not
            else own.layers <= first.network.encoder.layers
        )
    )
    return recipe.override({"distillation.start": "teacher" if fits else "pretrained"})


def heir_of(teachers: Sequence[Model], recipe: Recipe, labels: LabelSet) -> NeuralModel:
    """Return the teacher that a student starts from, the first of several.

    Raises:
        TrainingError: If it is no network that the student's layers can be the first layers of.
    """
    where = f'recipe "{recipe.name}"'
    step = 'Set distillation.start = "pretrained".'
    teacher = teachers[0]
    kinds = [r.get("encoder") and r["encoder"].kind for r in (teacher.recipe, recipe)]
    if not isinstance(teacher, NeuralModel) or kinds != ["pretrained"] * 2:
        raise TrainingError(
            'distillation.start = "teacher" needs a pretrained encoder in teacher and student',
            where=where, step=step,
        )  # fmt: skip
    if teacher.labels.ids != labels.ids:
        raise TrainingError(
            "a student that starts from its teacher has its labels in the same order",
            where=where, step="Leave the labels out: the teacher brings them.",
        )  # fmt: skip
    return teacher


def first_layers(teacher: NeuralModel, spec: Any) -> Encoder:
    """Return a copy of the first layers of a teacher's encoder, as a student's spec wants them.

    Raises:
        EncoderError: If the student is to have more layers, or larger ones, than the teacher.
    """
    known = teacher.network.encoder
    known.train_all()
    with tempfile.TemporaryDirectory(prefix="attending-") as folder:
        known.save(Path(folder))
        whole = spec.model_copy(update={"ffn": None})
        encoder = build_pretrained(whole, folder=Path(folder))
    weights = known.state_dict()
    encoder.load_state_dict({name: weights[name] for name in encoder.state_dict()})
    if spec.ffn is not None:
        narrow(encoder.model, spec.ffn, spec.name)
    return encoder


def take_over(network: Network, teacher: NeuralModel) -> tuple[str, ...]:
    """Copy a teacher's label vectors, label attention and head into a student, where they fit.

    Returns a note on each part that starts anew since the teacher has none that fits.
    """
    weights = teacher.network.state_dict()
    own = network.state_dict()
    anew = set()
    with torch.no_grad():
        for name, value in own.items():
            part = name.partition(".")[0]
            if part not in _PARTS:
                continue
            if name in weights and weights[name].shape == value.shape:
                value.copy_(weights[name])
            else:
                anew.add(part)
    return tuple(
        f"{part}: the student starts it anew, since the teacher has none that fits"
        for part in _PARTS
        if part in anew
    )
