"""Further pretraining: an encoder learns to guess hidden words of texts like those to come.

The outcome is an encoder folder, which ``--encoder FOLDER`` loads. Training goes through the one
trainer of neural recipes, so that precision, checkpoints, exact resume and Ctrl-C are the same.
Source: Devlin et al. 2019 (masked language modelling); Gururangan et al. 2020 (on the texts of
the task itself). Not done: next-sentence prediction, packing several texts into one window.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import transformers
from torch import nn
from transformers import Trainer

from attending import registry
from attending.data.corpora import Corpus
from attending.data.windows import Windower
from attending.data.wording import plural
from attending.errors import TrainingError, TrainingInterrupted
from attending.models.precision import resolve
from attending.models.store import RUN
from attending.records import Document
from attending.specs import BucketedSampler
from attending.specs.pretraining import Pretraining
from attending.training.encoder_folder import portable_name, save_encoder
from attending.training.guesser import (
    WordGuesser,
    load_guesser,
    log_loss,
    masked_loss,
    perplexity,
    start_from_frequencies,
)
from attending.training.job import claim as claim_folder
from attending.training.masking import Masker, Passage, cut
from attending.training.passes import passes
from attending.training.progress import Journal, Listener
from attending.training.run import run_to_end
from attending.training.state import claim as claim_run
from attending.training.texts import Texts, choose_texts
from attending.training.trainer import NeuralTrainer, Plan

LOG = "pretrain.jsonl"
MOST_STEPS_UNSAVED = 500
FRESH_HEAD_RATE = 1e-3


@dataclass(frozen=True)
class Pretrained:
    """What further pretraining came to.

    before, after: perplexity on the held-out texts; ``None`` without any.
    facts: what the folder's manifest says.
    notes: what a person should know.
    """

    folder: Path
    before: float | None
    after: float | None
    facts: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def pretrain(
    documents: Sequence[Document],
    folder: str | Path,
    settings: Pretraining | None = None,
    *,
    steps: int | None = None,
    seed: int = 0,
    force: bool = False,
    listener: Listener | None = None,
) -> Pretrained:
    """Train an encoder on texts by masked language modelling, and write its folder.

    Labels are not looked at. A text that occurs several times counts once. Some texts are held
    out: they choose the checkpoint and tell the perplexity before and after. A long text is read
    to its end, in windows. ``steps`` takes the place of ``training.epochs``. An unfinished run in
    ``folder`` goes on if it is the same run; ``force`` starts anew.

    Raises:
        OutputError: If the folder is in use.
        EncoderError: If the encoder isn't there or can't guess words.
        TrainingError: If there is nothing to learn from, or the unfinished run is another one.
        TrainingInterrupted: If the user stopped it; the same call goes on.
    """
    settings = settings or Pretraining()
    folder = Path(folder)
    claim_folder(folder, force)
    started = time.monotonic()
    texts = choose_texts(documents, settings.training.development, seed)
    run = folder / RUN
    transformers.set_seed(seed)
    guesser = load_guesser(settings.encoder)
    job = _Job.prepare(guesser, texts, settings, steps, seed)
    facts = {**_facts(texts, settings, steps, seed), **job.facts}
    run.mkdir(parents=True, exist_ok=True)
    resume = claim_run(run, {"labels": [], "encoder_place": settings.encoder.name, **facts})
    try:
        before, after, more = job.train(run.resolve(), Journal(run / LOG, listener), resume)
    except TrainingInterrupted as stop:
        without = ", without --force," if force else ""
        raise TrainingInterrupted(
            f"stopped on request at {stop.what}",
            where=str(run),
            step=f"Run the same command again{without} to go on from there.",
        ) from None
    facts |= more | {"seconds": round(time.monotonic() - started, 1)}
    notes = (*texts.notes, *job.notes, *_remarks(guesser, before, after))
    facts |= {"perplexity_before": before, "perplexity_after": after, "notes": list(notes)}
    save_encoder(guesser.network, guesser.encoder, folder, facts, run / LOG)
    return Pretrained(folder, before, after, facts, notes)


class MaskedTrainer(NeuralTrainer):
    """The trainer of neural recipes, on passages with hidden words."""

    def __init__(self, network: nn.Module, plan: Plan, masker: Masker) -> None:
        self.masker = masker
        super().__init__(network, plan)
        self.compute_loss_func = masked_loss

    def _collate(self, examples: Sequence[Any]) -> dict[str, Any]:
        return self.masker(examples, self.plan.sampler.epoch)

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the loss, in which every hidden token of a step weighs the same."""
        return Trainer.compute_loss(self, model, inputs, return_outputs, num_items_in_batch)


@dataclass(frozen=True)
class _Job:
    """A training run, ready to start."""

    guesser: WordGuesser
    settings: Pretraining
    train_on: tuple[Passage, ...]
    held_out: tuple[Passage, ...]
    masker: Masker
    steps: int | None
    seed: int
    facts: Mapping[str, Any]
    notes: tuple[str, ...]

    @classmethod
    def prepare(
        cls,
        guesser: WordGuesser,
        texts: Texts,
        settings: Pretraining,
        steps: int | None,
        seed: int,
    ) -> "_Job":
        encoder = guesser.encoder
        windower: Windower = registry.build(
            settings.windows, tokenizer=encoder.tokenizer, limit=encoder.limits.effective
        )
        whole = settings.masking.whole_words
        made = cut([d.text for d in texts.train], windower, whole_words=whole)
        held = cut(
            [d.text for d in texts.held_out], windower, whole_words=whole, first=len(made.kept)
        )
        if not made.kept:
            raise TrainingError(
                "no text is long enough to guess words in",
                found=f"{plural(len(texts.train), 'text')}, all blank or of one known word",
                step="Check the text column, and that the encoder is for this language.",
            )
        if guesser.fresh_head:
            start_from_frequencies(guesser.network, made.kept)
        short = made.too_short + held.too_short
        notes = []
        if short:
            notes.append(f"{plural(short, 'window')} with fewer than two known words: left out")
        if texts.held_out and not held.kept:
            notes.append("the texts held out are all that short: the perplexity isn't told")
        return cls(
            guesser,
            settings,
            made.kept,
            held.kept,
            Masker(settings.masking, encoder.tokenizer, seed, windower.limit),
            steps,
            seed,
            {
                "windows": len(made.kept),
                "tokens": made.tokens,
                "held_out_windows": len(held.kept),
                "window_tokens": windower.limit,
                "precision": resolve(settings.training.precision),
                "fresh_head": guesser.fresh_head,
            },
            tuple(notes),
        )

    def train(
        self, folder: Path, listener: Listener, resume: bool
    ) -> tuple[float | None, float | None, dict[str, Any]]:
        """Return the perplexity before and after, and facts about the run."""
        network = self.guesser.network
        precision = self.facts["precision"]

        def loss() -> float:
            return log_loss(network, self.held_out, self.masker, precision)

        def score() -> Mapping[str, float]:
            found = loss()
            return {"log_loss": found, "perplexity": perplexity(found)}

        trainer = self._trainer(folder, listener, score if self.held_out else None)
        before = perplexity(loss()) if self.held_out else None
        run_to_end(trainer, folder, resume)
        trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False)
        after = perplexity(loss()) if self.held_out else None
        return before, after, {"steps": trainer.plan.total_steps, "skipped_steps": trainer.skipped}

    def _trainer(
        self,
        folder: Path,
        listener: Listener,
        score: Callable[[], Mapping[str, float]] | None,
    ) -> MaskedTrainer:
        spec = self.settings.training
        sampler = registry.build(
            BucketedSampler(),
            lengths=[p.length for p in self.train_on],
            size=spec.batch_size,
            seed=self.seed,
        )
        per_epoch = math.ceil(len(sampler) / spec.accumulate)
        lasts = passes(spec, len(sampler))
        changes: dict[str, Any] = {"epochs": lasts.epochs}
        if self.steps is not None:
            # Half a step less than wanted is rounded up to it, whatever the division leaves.
            changes["epochs"] = (self.steps - 0.5) / per_epoch
        if spec.head_learning_rate is None and self.guesser.fresh_head:
            changes["head_learning_rate"] = FRESH_HEAD_RATE
        plan = Plan(
            spec=spec.model_copy(update=changes),
            examples=cast(Any, self.train_on),
            sampler=sampler,
            pad=self.masker.pad,
            folder=folder,
            seed=self.seed,
            precision=self.facts["precision"],
            score=score,
            listener=listener,
            facts=self.facts,
            every=MOST_STEPS_UNSAVED if per_epoch > MOST_STEPS_UNSAVED else lasts.every,
        )
        return MaskedTrainer(self.guesser.network, plan, self.masker)


def _facts(texts: Texts, settings: Pretraining, steps: int | None, seed: int) -> dict[str, Any]:
    table = settings.to_table()
    if steps is not None:
        table["training"]["epochs"] = None
    return {
        "encoder": portable_name(settings.encoder.name),
        "seed": seed,
        "wanted_steps": steps,
        "settings": table,
        "texts": len(texts.train),
        "held_out_texts": len(texts.held_out),
        "data_fingerprint": Corpus(texts.train).fingerprint,
        "held_out_fingerprint": Corpus(texts.held_out).fingerprint,
    }


def _remarks(guesser: WordGuesser, before: float | None, after: float | None) -> list[str]:
    remarks = []
    if guesser.fresh_head and before is not None:
        remarks.append(
            "the encoder came without a head for hidden words, so one was made anew: the "
            "perplexity before says nothing of the encoder"
        )
    if before is not None and after is not None and after >= before:
        remarks.append(
            "the perplexity did not fall: the encoder guesses these texts no better than before; "
            "try a lower training.learning_rate, or more texts"
        )
    return remarks
