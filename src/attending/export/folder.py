"""From a model folder to an exported one, through the parity gate."""

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib import metadata
from pathlib import Path

import numpy as np

from attending.errors import ModelError
from attending.evaluation.task import Task
from attending.export.card import export_section
from attending.export.parity import Answers, Parity, Tolerance, compare
from attending.export.probe import write_probe
from attending.export.quantize import Plan, choose
from attending.export.runtime import ExportedModel
from attending.export.signature import GRAPH, PARITY, PLANTED, TOKENIZER, WORDS
from attending.models.base import Model
from attending.models.cascade import CascadeModel
from attending.models.store import (
    ALONG,
    EXPORTED,
    load_metrics,
    load_model,
    require_free,
    save_model,
    whole_folder,
)
from attending.records import Row

_DAMAGE_ROWS = 32
_PACKAGES = ("torch", "onnx", "onnxscript", "onnxruntime")
Tell = Callable[[str], None]


def export_model(
    model: Model,
    folder: str | Path,
    rows: Sequence[Row],
    *,
    int8: bool = False,
    portable: bool = False,
    tolerance: Tolerance | None = None,
    sample: str = "",
    source: str | Path | None = None,
    force: bool = False,
    tell: Tell = lambda _: None,
) -> Parity:
    """Export a neural model to a folder that runs without torch, if it answers rows as before.

    Args:
        model: A fitted neural model that gives documents labels.
        folder: Where to write; nothing is written if the export is beyond tolerance.
        rows: Real rows to compare on; labels are used where they have some.
        int8: Round weights to int8; layers that lose too much are rounded finer or not at all.
        portable: Use 7 bits of int8 and no blocks, for x86 processors without VNNI instructions.
        tolerance: How far answers may be apart; by default what suits float or int8.
        sample: Which rows these are, in words.
        source: The model's folder, whose development figures and record of data go along.
        force: Replace a folder that holds a model.
        tell: Told what is being done.

    Raises:
        ModelError: If the model can't be exported, or its export is beyond tolerance.
        OutputError: If the folder can't be written.
        MissingExtra: If onnx, onnxscript or onnxruntime isn't installed.
    """
    from attending.models.neural import NeuralModel

    if not isinstance(model, NeuralModel):
        raise ModelError(*_no_export(model))
    if not rows:
        raise ModelError("an export is compared with its model on real rows, and there are none")
    from attending.export.graph import write_graph

    allowed = tolerance or Tolerance.of(int8)
    require_free(Path(folder).resolve(), force)
    with tempfile.TemporaryDirectory(prefix="attending-export-") as scratch:
        parts, built = Path(scratch) / "parts", Path(scratch) / "model"
        parts.mkdir()
        tell("tracing the network")
        signature = write_graph(model, parts / GRAPH)
        model.network.encoder.tokenizer.backend_tokenizer.save(str(parts / TOKENIZER))
        (parts / PARITY).write_text("{}\n", encoding="utf-8")
        if signature.listens and model.words is not None:
            (parts / WORDS).mkdir()
            model.words.save(parts / WORDS)
        if signature.plants and model.index is not None:
            model.index.save(parts / PLANTED)
        graph = signature.to_dict() | {"int8": int8}
        facts = {
            **model.facts,
            "family": EXPORTED,
            "graph": graph,
            "export": {"versions": _versions()},
        }
        made = ExportedModel(parts, model.recipe, model.labels, model.decision, facts)
        metrics = load_metrics(source) if source is not None else {}
        save_model(made, built, metrics=metrics)
        gate = Gate(model, built, rows, allowed, sample, tell)
        plan = Plan()
        if int8:
            tell("rounding weights to int8")
            plan = choose(
                parts / GRAPH, built / GRAPH, gate.passes, gate.damage, tell, portable=portable
            )
        parity = replace(
            gate.check(),
            int8_layers=len(plan.whole),
            block_layers=tuple(x.node for x in plan.blocks),
            float_layers=tuple(x.node for x in plan.floats),
        )
        _finish(built, parity, allowed, source)
        checked = load_model(built)
        assert isinstance(checked, ExportedModel)
        write_probe(checked)
        with whole_folder(folder, force) as new:
            shutil.copytree(built, new, dirs_exist_ok=True)
    return parity


class Gate:
    """Compares the folder in the making with its model, as often as needed.

    Args:
        model: The model.
        built: The folder, whose graph may change.
        rows: The rows to compare on.
        tolerance: How far answers may be apart.
        sample: Which rows these are, in words.
        tell: Told what is being done.
    """

    def __init__(
        self,
        model: Model,
        built: Path,
        rows: Sequence[Row],
        tolerance: Tolerance,
        sample: str,
        tell: Tell,
    ) -> None:
        self._model, self._built, self._rows = model, built, rows
        self._tolerance, self._sample, self._tell = tolerance, sample, tell
        self._method = next(iter(load_model(built).methods), None)
        tell(f"asking the model about {len(rows):,} rows")
        self._before = Answers.of(model, rows, self._method)
        if not any(found.logits is not None for found in self._before.scored):
            raise ModelError(
                "an export is compared with its model on real rows, and the model reads none",
                found=f"{len(rows):,} rows without a text that it can read",
                step="Name others, or the column of their texts.",
            )

    def compare(self) -> Parity:
        """Return how far the folder's answers are from the model's."""
        after = Answers.of(load_model(self._built), self._rows, self._method)
        counts: Mapping[str, int] = self._model.facts.get("label_counts", {})
        task: Task = "single" if self._model.recipe.task == "single" else "multi"
        return compare(self._before, after, self._rows, task, counts, self._sample)

    def passes(self) -> bool:
        """Say whether the folder is within tolerance, and tell why not."""
        said = self.compare().beyond(self._tolerance)
        self._tell(f"beyond tolerance: {'; '.join(said)}" if said else "within tolerance")
        return not said

    def damage(self) -> float:
        """Return the mean difference of a logit, on some of the rows."""
        some = self._rows[:_DAMAGE_ROWS]
        after = load_model(self._built).scores(some)
        gaps = [
            float(np.abs(a.logits - b.logits).mean())
            for a, b in zip(self._before.scored, after, strict=False)
            if a.logits is not None and b.logits is not None
        ]
        return float(np.mean(gaps)) if gaps else 0.0

    def check(self) -> Parity:
        """Return how far the folder is from the model.

        Raises:
            ModelError: If that is beyond tolerance; says all that is.
        """
        parity = self.compare()
        said = parity.beyond(self._tolerance)
        if said:
            raise ModelError(
                f"the exported model answers otherwise than its model: {'; '.join(said)}",
                found=f"compared on {parity.compared}",
                step="Nothing was written. --tolerance allows more.",
            )
        return parity


def _no_export(model: Model) -> tuple[str]:
    if isinstance(model, ExportedModel):
        return ("is exported already",)
    if isinstance(model, CascadeModel):
        return ("is a cascade and has no single network: export its second model, then join them",)
    name = model.recipe.name
    return (f'a "{name}" model has no network to export: it runs without torch as it is',)


def _versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in _PACKAGES}


def _finish(built: Path, parity: Parity, tolerance: Tolerance, source: str | Path | None) -> None:
    """Write the parity report and the card, and take along what goes along."""
    report = parity.to_dict() | {"tolerance": asdict(tolerance)}
    body = json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)
    (built / PARITY).write_text(body + "\n", encoding="utf-8")
    card = built / "README.md"
    section = export_section(parity, tolerance, (built / GRAPH).stat().st_size)
    card.write_text(card.read_text(encoding="utf-8") + section, encoding="utf-8")
    for name in ALONG:
        if source is not None and (Path(source) / name).is_file():
            shutil.copyfile(Path(source) / name, built / name)
