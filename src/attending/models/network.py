"""The network of neural recipes: one forward pass for every recipe with an encoder."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from attending import registry
from attending.errors import RecipeError
from attending.models.layouts import join, laid_out, pool_windows
from attending.models.prior import prior_of
from attending.parts.described import DescribedLabels
from attending.parts.encoders import Encoder
from attending.parts.label_chunks import label_chunk, label_chunks
from attending.parts.label_sample import LabelSample, label_sample
from attending.parts.planting.planted import require_place
from attending.recipe import Recipe
from attending.records import LabelSet
from attending.tensors import (
    Attended,
    AttentionTrace,
    Batch,
    LabelStates,
    LabelTrace,
    Outputs,
    TokenStates,
)

NOT_LISTED = -10.0
"""Labels that are not on a document's shortlist score below this, and below all that are."""


class Network(nn.Module):
    """Encoder, label states, label attention, head and loss of one recipe.

    Args:
        recipe: A neural recipe.
        labels: The labels to score.
        folder: An encoder folder to take the shape from, weights left untrained.
        counts: The labels' counts in the training rows, for losses and mixtures.
        documents: How many training rows have a label.
        texts: The training texts, for encoders that learn their words from them.
        seed: Decides what an encoder learns from the texts.
        words: How many words are numbered, where attention is planted.
        encoder: The encoder, if it stands already.
    """

    def __init__(
        self,
        recipe: Recipe,
        labels: LabelSet,
        *,
        folder: Path | None = None,
        counts: Sequence[int] | None = None,
        documents: int | None = None,
        texts: Sequence[str] | None = None,
        seed: int = 0,
        words: int | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__()
        self.encoder: Encoder = encoder or registry.build(
            recipe["encoder"], folder=folder, texts=texts, seed=seed
        )
        context: dict[str, Any] = {
            "encoder": self.encoder,
            "labels": labels,
            "counts": counts,
            "documents": documents,
        }
        attention = registry.build(recipe["label_attention"], windows=recipe["windows"], **context)
        context["width"] = getattr(attention, "label_width", self.encoder.width)
        context["tokens"] = getattr(attention, "reads_tokens", False)
        states = recipe.get("label_states")
        self.label_states = None if states is None else registry.build(states, **context)
        self.label_attention = attention
        context["width"] = getattr(attention, "width", self.encoder.width)
        self.head = registry.build(recipe["head"], **context)
        self.loss = registry.build(recipe["loss"], **context)
        taught = recipe.get("distillation")
        self.distillation = None if taught is None else registry.build(taught, task=recipe.task)
        drawn = recipe.get("descriptions")
        self.descriptions = None if drawn is None else registry.build(drawn, **context)
        beside = recipe.get("lexical")
        self.lexical = None if beside is None else registry.build(beside)
        ranked = recipe.get("planting")
        self.planting = None
        if ranked is not None and ranked.plants:
            self.planting = registry.build(ranked, words=words or 0, **context)
        if self.lexical is None:
            self._start_at_prior(recipe, counts, documents)
        else:
            # So that the network starts from what the words say, and learns what they leave open.
            getattr(self.head, "silence", lambda: None)()
        self.pool: str = recipe["windows"].pool
        self.evidence_loss = float(recipe["training"].evidence_loss)
        self.label_count = len(labels)
        self.sampled_labels = int(recipe["training"].sampled_labels or 0)
        self.label_wise: bool = getattr(attention, "per_label", False)
        if getattr(self.head, "per_label", False) != self.label_wise:
            raise RecipeError(
                f'head "{recipe["head"].kind}" does not fit '
                f'label_attention "{recipe["label_attention"].kind}"',
                where=f'recipe "{recipe.name}"',
                step="One vector a label needs a head that scores label by label, "
                "one vector a document one that doesn't.",
            )
        self.joins: bool = self.label_wise and recipe["windows"].join == "tokens"
        self._require_parts(recipe)

    def _start_at_prior(
        self, recipe: Recipe, counts: Sequence[int] | None, documents: int | None
    ) -> None:
        """Start from how often labels are, where there may be any number of them."""
        wanted = getattr(recipe["head"], "biases", None) == "prior"
        if wanted and recipe.task == "multi" and counts is not None and documents:
            self.head.start_at(prior_of(recipe, counts, documents))

    def _require_parts(self, recipe: Recipe) -> None:
        """Refuse settings that the other parts would leave without effect."""
        where = f'recipe "{recipe.name}"'
        if self.evidence_loss and not (self.joins and self.label_attention.has_weights):
            raise RecipeError(
                "training.evidence_loss needs labels that attend over whole documents",
                where=where,
                step='Set windows.join = "tokens" and a label attention that has weights.',
            )
        if self.sampled_labels and (not self.label_wise or self.distillation is not None):
            raise RecipeError(
                "training.sampled_labels is for labels that attend each for itself, and that "
                "documents have or lack",
                where=where,
                step="Leave it out, or choose a recipe such as lame, laat or plm-icd, without a "
                "teacher.",
            )
        named = getattr(recipe.get("lexical"), "synonyms", 0)
        if named and not getattr(recipe.get("label_states"), "synonyms", 0):
            raise RecipeError(
                "lexical.synonyms are read by nothing",
                where=where,
                step="Set label_states.synonyms to how many of a label's synonyms are to be read, "
                "or lexical.synonyms = 0.",
            )
        if recipe.get("shortlist") is not None and not self.label_wise:
            raise RecipeError(
                "a shortlist is for labels that attend each for itself",
                where=where,
                step="Leave it out, or choose a recipe such as lame, laat or plm-icd.",
            )
        if self.planting is not None:
            spec, kind = recipe["planting"], recipe["label_attention"].kind
            require_place(spec, self.label_attention, kind, self.label_wise, where)
        if self.descriptions is not None and not hasattr(self.head, "label_vectors"):
            raise RecipeError(
                "loss.description_pull needs a head with a vector a label",
                where=where,
                step='Set head.kind = "per-label".',
            )

    @property
    def device(self) -> torch.device:
        """Where the network's weights are."""
        return next(self.head.parameters(), next(self.encoder.parameters())).device

    def forward(
        self,
        batch: Batch,
        trace: AttentionTrace | None = None,
        label_trace: LabelTrace | None = None,
    ) -> Outputs:
        """Score a batch: logits (B, L), and the loss where targets are given.

        A batch without ``lexical`` gets the logits of the network alone, also where it would
        listen to words.
        """
        labels: LabelStates | None = None
        sample = self._sample(batch)
        if self.label_states is not None:
            labels = self.label_states(_known(batch), sample)
        extra: Tensor | None = None
        pooled: Tensor | None = None
        if self.label_wise:
            assert labels is not None
            logits, pooled, extra = self._label_wise(batch, labels, label_trace, sample)
        else:
            more = {}
            if self.planting is not None and batch.words is not None:
                more["bias"] = self.planting(batch.words, slice(None))
            attended = self.label_attention(
                self.encoder, batch.ids, batch.mask, labels, trace, **more
            )
            pooled = attended.context
            logits = self.head(attended.context)
        logits = pool_windows(logits, batch.document, batch.size, self.pool)
        if self.lexical is not None and batch.lexical is not None:
            said = batch.lexical if sample is None else sample.matches(batch.lexical)
            logits = self.lexical(logits, said)
        if sample is not None:
            logits = sample.whole(logits)
        loss = None
        if batch.targets is not None:
            own = None if labels is None or self.label_wise else self.head(labels.states)
            loss = self._loss(logits, batch, own)
            if batch.vectors is not None and self.distillation is not None:
                merged = pool_windows(pooled, batch.document, batch.size, "mean")
                loss = loss + self.distillation.of_vectors(merged, batch.vectors)
            loss = loss if extra is None else loss + extra
            known = _known(batch)
            if self.descriptions is not None and known is not None and len(known):
                loss = loss + self._pull(known, labels)
        return Outputs(logits, loss, pooled)

    def _sample(self, batch: Batch) -> LabelSample | None:
        """Draw the labels of a step of training, where not all are scored in each."""
        if not (self.sampled_labels and self.training) or batch.targets is None:
            return None
        return label_sample(batch.targets, self.label_count, self.sampled_labels)

    def _loss(self, logits: Tensor, batch: Batch, own: Tensor | None) -> Tensor:
        """Return the loss of the recipe, or of a student: logits (B, L), own (L, L)."""
        loss: Tensor
        if batch.soft is None or self.distillation is None:
            loss = self.loss(logits, batch.targets, own)
            return loss
        targets = batch.targets
        assert targets is not None
        loss = self.distillation(
            logits, batch.soft, batch.labelled, lambda rows: self.loss(logits[rows], targets[rows])
        )
        return loss + self.loss.of_labels(own) if hasattr(self.loss, "of_labels") else loss

    def tokens(self, batch: Batch) -> TokenStates:
        """Return the states that labels attend to: of windows, or of whole documents."""
        found: TokenStates = self.encoder(batch.ids, batch.mask)
        if batch.layout is None:
            return found
        return join(found, batch.layout)

    def _label_wise(
        self,
        batch: Batch,
        labels: LabelStates,
        trace: LabelTrace | None,
        sample: LabelSample | None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Score label by label, in chunks of labels; returns logits, pooled states, added loss."""
        tokens, words = self.tokens(batch), self._words(batch)
        mean = (tokens.states * tokens.mask.unsqueeze(-1)).sum(dim=1)
        pooled = mean / tokens.mask.sum(dim=1, keepdim=True).clamp(min=1)
        if batch.shortlist is not None:
            rows = batch.shortlist if batch.layout is not None else batch.shortlist[batch.document]
            silent = self.lexical is not None and batch.lexical is not None
            return self._shortlisted(tokens, labels, words, rows, silent), pooled, None
        prepared = self.label_attention.prepare(tokens)
        if trace is not None:
            trace.weights = self._attend(prepared, labels, trace.labels, words).weights
        pieces = []
        count = len(labels.states) if sample is None else len(sample.which)
        chunks = list(label_chunks(count, tokens))
        for some in chunks:
            which = some if sample is None else sample.which[some]
            run: Callable[[], Tensor] = partial(self._score, prepared, labels, which, words)
            again = len(chunks) > 1 and torch.is_grad_enabled()
            pieces.append(checkpoint(run, use_reentrant=False) if again else run())
        added = self._group_loss(prepared, batch)
        if self.evidence_loss and batch.evidence is not None and batch.targets is not None:
            drawn = self.evidence_loss * self._evidence_loss(
                prepared, labels, batch.evidence, words
            )
            added = drawn if added is None else added + drawn
        return torch.cat(pieces, dim=1), pooled, added

    def _shortlisted(
        self,
        tokens: TokenStates,
        labels: LabelStates,
        words: Tensor | None,
        shortlist: Tensor,
        silent: bool,
    ) -> Tensor:
        """Score each row's own labels (rows, K); all others score below the lowest of them.

        Where ``silent``, they score 0 instead: the network has no say, what words say stands.
        Rows take turns, since each has other labels. Returns (rows, L).
        """
        logits = tokens.states.new_zeros(len(shortlist), len(labels.states))
        for row, which in enumerate(shortlist):
            end = int(tokens.mask[row].sum())  # real tokens come first
            own = TokenStates(tokens.states[row : row + 1, :end], tokens.mask[row : row + 1, :end])
            beside = None if words is None else words[row : row + 1, :end]
            prepared = self.label_attention.prepare(own)
            size = label_chunk(own)
            found = torch.cat([
                self._score(prepared, labels, some, beside) for some in which.split(size)
            ], dim=1)  # fmt: skip
            if not silent:
                logits[row] = min(float(found.min()), NOT_LISTED) - 1
            logits[row, which] = found[0]
        return logits

    def _pull(self, targets: Tensor, labels: LabelStates | None) -> Tensor:
        """Return how far the classifiers of the batch's labels are from their descriptions."""
        used = torch.nonzero((targets > 0).any(dim=0)).flatten()
        described = self.descriptions(used, labels)  # type: ignore[misc]
        loss: Tensor = self.loss.pull(self.head.label_vectors[used], described, targets[:, used])
        return loss

    def finish(self) -> None:
        """Settle what follows from training, after it: classifiers of labels without rows."""
        if isinstance(self.label_states, DescribedLabels):
            self.label_states.finish()
        if self.descriptions is not None:
            self.descriptions.lend(self.head.label_vectors)

    def _evidence_loss(
        self, prepared: Any, labels: LabelStates, cells: Tensor, words: Tensor | None
    ) -> Tensor:
        """Return -log of the attention that annotated labels give to their annotated tokens.

        cells (E, 3); the mean is over (document, label) pairs.
        """
        used, place = torch.unique(cells[:, 1], return_inverse=True)
        weights = self._attend(prepared, labels, used, words).weights.float()  # type: ignore[union-attr]
        on = weights[cells[:, 0], place, cells[:, 2]]
        pairs, pair = torch.unique(cells[:, 0] * len(used) + place, return_inverse=True)
        mass = torch.zeros(len(pairs), device=on.device).index_add(0, pair, on)
        loss: Tensor = -mass.clamp(min=1e-6).log().mean()
        return loss

    def _score(
        self, prepared: Any, labels: LabelStates, which: slice | Tensor, words: Tensor | None
    ) -> Tensor:
        context = self._attend(prepared, labels, which, words, weights=False).context
        logits: Tensor = self.head(context, labels.rows(which), which)
        if self.planting is None or words is None:
            return logits
        voted: Tensor = self.planting.voted(logits, words, which)
        return voted

    def _attend(
        self,
        prepared: Any,
        labels: LabelStates,
        which: slice | Tensor,
        words: Tensor | None,
        weights: bool = True,
    ) -> Attended:
        """Attend for some labels, with what is planted if anything is."""
        picked, more = labels.rows(which), {}
        if self.planting is not None and words is not None:
            more["bias"] = self.planting(words, which)
        attended: Attended = self.label_attention(prepared, picked, weights=weights, **more)
        return attended

    def planted(self, batch: Batch, which: Tensor) -> Tensor:
        """Return what is planted on the tokens that labels attend to, for some labels (B, l, S)."""
        words = self._words(batch)
        assert self.planting is not None and words is not None
        found: Tensor = self.planting(words, which)
        return found

    def _words(self, batch: Batch) -> Tensor | None:
        """Return the words under the tokens that labels attend to, as ``tokens`` lays these out."""
        if batch.words is None or batch.layout is None:
            return batch.words
        return laid_out(batch.words, batch.layout)

    def _group_loss(self, prepared: Any, batch: Batch) -> Tensor | None:
        """Return the loss of groups of labels, for attention that scores those first."""
        logits = getattr(prepared, "groups", None)
        if logits is None or batch.targets is None:
            return None
        logits = pool_windows(logits, batch.document, batch.size, self.pool)
        group = self.label_attention.group_of.expand(batch.size, -1)
        targets = batch.targets if batch.soft is None else batch.soft
        if targets.ndim == 1:
            targets = nn.functional.one_hot(targets, group.shape[1]).float()
        of_groups = torch.zeros_like(logits, dtype=targets.dtype)
        of_groups = of_groups.scatter_reduce(1, group, targets, "amax")
        loss: Tensor = nn.functional.binary_cross_entropy_with_logits(logits.float(), of_groups)
        return loss


def _known(batch: Batch) -> Tensor | None:
    """Return the targets of the documents that have labels, if any are given."""
    if batch.targets is None or batch.soft is None:
        return batch.targets
    return batch.targets[batch.labelled]
