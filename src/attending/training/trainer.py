"""The one training path of neural recipes, on transformers' Trainer.

From the Trainer come data parallelism, mixed precision, checkpoints and exact resume; from here
the batches, the parameter groups, the development score and the guard against non-finite steps.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import (
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from attending.data.batches import collate
from attending.data.samplers import BatchSampler
from attending.data.windows import Windowed
from attending.errors import TrainingError
from attending.parts.lexical import LexicalScores
from attending.parts.lexical_mixture import matches_of
from attending.specs import Training
from attending.tensors import Batch
from attending.training.progress import Event, Listener
from attending.training.schedules import Patience, Unfreezing, rates

MOST_SKIPPED = 10
CHECKPOINTS = "checkpoints"
_LOWER_IS_BETTER = ("log_loss",)


@dataclass(frozen=True, slots=True)
class Example:
    """A windowed training document, its label's position or its labels', and what speaks for them.

    target: ``None`` without labels.
    evidence: (label position, token number) of annotated tokens.
    soft: a teacher's probabilities, (L,).
    vector: what a teacher makes of the document, (H,).
    row: the document's number among the training rows.
    """

    document: Windowed
    target: int | tuple[int, ...] | None
    evidence: tuple[tuple[int, int], ...] = ()
    row: int = 0
    soft: NDArray[np.float32] | None = None
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Plan:
    """Everything a training run needs besides the network.

    limit: the longest that a window can be; 0 where nothing says.
    labels: the number of labels of a multi-label task, 0 for a single-label one.
    joins: whether label attention reads whole documents.
    words: what words say of each training row, for networks that listen.
    score: scores the network on development rows, or ``None`` without such rows.
    facts: what the log should say at the start, such as the tokens of a window.
    every: steps between two scores and checkpoints; ``None``: once an epoch.
    kept: whether a stopped run can go on from the folder; else only the best checkpoint is written.
    collate: makes a batch of examples that are no windowed documents; ``batch`` is its type.
    """

    spec: Training
    examples: Sequence[Any]
    sampler: BatchSampler
    pad: int
    folder: Path
    seed: int
    precision: str
    score: Callable[[], Mapping[str, float]] | None
    listener: Listener
    facts: Mapping[str, Any] = field(default_factory=dict)
    limit: int = 0
    labels: int = 0
    joins: bool = False
    words: LexicalScores | None = None
    every: int | None = None
    kept: bool = True
    collate: Callable[[Sequence[Any]], Any] | None = None
    batch: type[Any] = Batch

    @property
    def total_steps(self) -> int:
        """Optimiser steps of the whole run."""
        per_epoch = math.ceil(len(self.sampler) / self.spec.accumulate)
        return math.ceil(per_epoch * self.spec.epochs)


class NeuralTrainer(Trainer):  # type: ignore[misc]
    """A Trainer that batches windows, scores on development rows and skips bad steps."""

    optimizer: Any
    lr_scheduler: Any
    control: Any

    def __init__(self, network: nn.Module, plan: Plan) -> None:
        self.plan = plan
        self.skipped = 0
        self._losses: list[float] = []
        super().__init__(
            model=network,
            args=_arguments(plan),
            train_dataset=plan.examples,
            # Only says that there are development rows; ``evaluate`` scores them itself.
            eval_dataset=plan.examples if plan.score is not None else None,
            data_collator=self._collate,
            callbacks=[_Reporter(plan, self.take_loss), *_stopping(plan), *_stages(network, plan)],
        )
        self.remove_callback(PrinterCallback)

    def _collate(self, examples: Sequence[Any]) -> dict[str, Any]:
        batch = (self.plan.collate or self._documents)(examples)
        return {f.name: getattr(batch, f.name) for f in fields(batch)}

    def _documents(self, examples: Sequence[Example]) -> Batch:
        words = self.plan.words
        return collate(
            [e.document for e in examples],
            self.plan.pad,
            [e.target for e in examples],  # type: ignore[arg-type]
            limit=self.plan.limit,
            labels=self.plan.labels,
            join=self.plan.joins,
            evidence=[e.evidence for e in examples],
            soft=[e.soft for e in examples],
            vectors=[e.vector for e in examples],
            lexical=None if words is None else matches_of(words, [e.row for e in examples]),
        )

    def get_train_dataloader(self) -> Any:
        """Return batches as the recipe's sampler orders them."""
        loader: DataLoader[Any] = DataLoader(
            self.plan.examples,  # type: ignore[arg-type]
            batch_sampler=self.plan.sampler,
            collate_fn=self._collate,
        )
        return self.accelerator.prepare(loader)

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """AdamW with groups: encoder and head, with and without weight decay."""
        if self.optimizer is None:
            groups = parameter_groups(self.model, self.plan.spec)
            self.optimizer = torch.optim.AdamW(groups, fused=True)
        optimizer: torch.optim.Optimizer = self.optimizer
        return optimizer

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """Let the rates rise and fall as the recipe says."""
        spec = self.plan.spec
        if self.lr_scheduler is None and (spec.unfreeze or spec.schedule != "linear"):
            self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
                optimizer or self.optimizer, rates(spec, num_training_steps)
            )
            return self.lr_scheduler
        return super().create_scheduler(num_training_steps, optimizer)

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the loss of a batch."""
        outputs = model(self.plan.batch(**inputs))
        return (outputs.loss, outputs) if return_outputs else outputs.loss

    def training_step(self, model: nn.Module, inputs: dict[str, Any], *args: Any) -> Tensor:
        """Run forward and backward; drop the step if loss or gradient is not finite.

        Raises:
            TrainingError: If more than ``MOST_SKIPPED`` steps had to be dropped.
        """
        loss: Tensor = super().training_step(model, inputs, *args)
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        if bool(torch.isfinite(loss)) and bool(torch.isfinite(norm)):
            self._losses.append(float(loss))
            return loss
        model.zero_grad()
        self.skipped += 1
        if self.skipped > MOST_SKIPPED:
            raise TrainingError(
                f"{self.skipped} steps had a loss or gradient that is not finite",
                step="Lower training.learning_rate, or set training.precision=float32.",
            )
        return torch.zeros_like(loss)

    def attempt(self, examples: Sequence[Any]) -> int:
        """Run forward and backward on examples and forget the gradients; returns their tokens."""
        self.model.train()
        tell_progress(self.model, 0.0)
        inputs = self._prepare_inputs(self._collate(examples))
        with self.accelerator.autocast():  # as in a step, for which the library wraps the network
            loss = self.compute_loss(self.model, inputs)
        loss.backward()
        self.model.zero_grad(set_to_none=True)
        return int(inputs["ids"].numel())

    def take_loss(self) -> float | None:
        """Return the loss of the last step, once; ``None`` for a step that was left out."""
        # The library divides each batch's loss by the number of batches a step.
        loss = sum(self._losses) if self._losses else None
        self._losses.clear()
        return loss

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Score the development rows and tell the Trainer.

        Raises:
            TrainingError: If a weight is not finite, so that no such checkpoint is ever best.
        """
        assert self.plan.score is not None
        self.require_finite()
        metrics = {f"eval_{k}": v for k, v in self.plan.score().items()}
        self.log(dict(metrics))  # which adds to what it is given
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        return metrics

    def require_finite(self) -> None:
        """Make sure that training has not ruined the network.

        Raises:
            TrainingError: If a weight is not finite.
        """
        if not all(bool(torch.isfinite(p).all()) for p in self.model.parameters()):
            raise TrainingError("a weight is not finite", step="Lower training.learning_rate.")


def tell_progress(model: Any, share: float) -> None:
    """Tell a loss that changes on the way how much of training is done, 0 to 1."""
    tell = getattr(getattr(model, "loss", None), "progress", None)
    if tell is not None:
        tell(share)


def build_trainer(spec: Training, *, network: nn.Module, plan: Plan, **_: object) -> NeuralTrainer:
    """Build the trainer of a recipe."""
    return NeuralTrainer(network, plan)


def parameter_groups(network: nn.Module, spec: Training) -> list[dict[str, Any]]:
    """Split parameters by rate and decay.

    The head and everything else outside the encoder get ``head_learning_rate`` if it is set;
    label vectors, which are queries inside the encoder, get the encoder's rate unless
    ``label_learning_rate`` is set. Biases, norms and embeddings get no decay: rows of the
    word table that don't occur must not shrink.
    """
    # The library's own models name their encoder by its family.
    encoder = getattr(network, "base_model_prefix", "encoder")
    rates = {encoder: spec.learning_rate, "label_states": spec.label_learning_rate}
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in network.named_parameters():
        if not parameter.requires_grad:
            continue
        part = name.partition(".")[0]
        rate = rates.get(part, spec.head_learning_rate) or spec.learning_rate
        plain = parameter.ndim < 2 or "embeddings." in name or part == "label_states"
        decay = 0.0 if plain else spec.weight_decay
        groups.setdefault((rate, decay), []).append(parameter)
    return [
        {"params": members, "lr": rate, "weight_decay": decay}
        for (rate, decay), members in groups.items()
    ]


def _arguments(plan: Plan) -> TrainingArguments:
    spec, scored = plan.spec, plan.score is not None
    regularly = "epoch" if plan.every is None else "steps"
    chosen = "best" if scored else "no"
    return TrainingArguments(
        output_dir=str(plan.folder / CHECKPOINTS),
        num_train_epochs=spec.epochs,
        per_device_train_batch_size=spec.batch_size,
        gradient_accumulation_steps=spec.accumulate,
        learning_rate=spec.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=round(spec.warmup * plan.total_steps),
        max_grad_norm=spec.clip,
        bf16=plan.precision == "bfloat16",
        use_cpu=not torch.cuda.is_available(),
        seed=plan.seed,
        data_seed=plan.seed,
        eval_strategy=regularly if scored else "no",
        eval_steps=plan.every,
        save_strategy=regularly if plan.kept else chosen,
        save_only_model=not plan.kept,
        save_steps=plan.every or 500,
        # The best and the newest; with 1, a stopped run would lose all since the best one.
        save_total_limit=2,
        load_best_model_at_end=scored,
        metric_for_best_model=spec.select if scored else None,
        greater_is_better=spec.select not in _LOWER_IS_BETTER if scored else None,
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        dataloader_num_workers=0,
    )


def _stages(network: nn.Module, plan: Plan) -> list[TrainerCallback]:
    if not plan.spec.unfreeze:
        return []
    encoder = getattr(network, "base_model_prefix", "encoder")
    return [Unfreezing(network, plan.spec, encoder)]


def _stopping(plan: Plan) -> list[TrainerCallback]:
    if plan.spec.patience is None or plan.score is None:
        return []
    return [Patience(plan.spec.patience)]


class _Reporter(TrainerCallback):  # type: ignore[misc]
    """Tells the listener of steps and epochs, with time left from the steps of this run."""

    def __init__(self, plan: Plan, take_loss: Callable[[], float | None]) -> None:
        self.plan, self.take_loss = plan, take_loss
        self.started = 0.0
        self.first = 0

    def _event(
        self,
        kind: Any,
        state: Any,
        metrics: dict[str, float] | None = None,
        facts: Mapping[str, Any] | None = None,
        loss: float | None = None,
    ) -> None:
        seconds = time.monotonic() - self.started
        done = state.global_step - self.first
        left = None
        if done >= 3:
            left = seconds / done * (state.max_steps - state.global_step)
        self.plan.listener(
            Event(
                kind=kind,
                step=state.global_step,
                total=state.max_steps,
                epoch=round(state.epoch or 0.0, 3),
                loss=loss,
                seconds=round(seconds, 2),
                seconds_left=None if left is None else round(left, 1),
                metrics=metrics,
                facts=None if facts is None else dict(facts),
            )
        )

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.started, self.first = time.monotonic(), state.global_step
        self._event("start", state, facts=self.plan.facts)

    def on_step_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, **_: Any
    ) -> None:
        tell_progress(model, state.global_step / max(1, state.max_steps))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._event("step", state, loss=self.take_loss())

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: dict[str, float], **_: Any
    ) -> None:
        self._event("epoch", state, {k.removeprefix("eval_"): v for k, v in metrics.items()})

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._event("end", state)
