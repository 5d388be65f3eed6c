"""Plant: rank the words of every label on training rows, before any attention is trained."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attending.parts.planting.described import blended, described
from attending.parts.planting.mutual_information import presence
from attending.parts.planting.ranker import Listener, Ranker, learn_ranking
from attending.parts.planting.relevance import Relevance, relevance
from attending.parts.planting.word_index import WordIndex
from attending.records import Document, LabelPart, LabelSet
from attending.specs.planting import PlantedScores

_LABEL_TEXT: tuple[LabelPart, ...] = ("name", "description", "synonyms", "keywords")


@dataclass(frozen=True)
class Ranked:
    """Words of training texts, and how relevant they are to each label.

    Attributes:
        index: The words.
        relevance: The best words of each label, from examples, texts of labels, or both.
        examples: Training documents of each label, (L,).
    """

    index: WordIndex
    relevance: Relevance
    examples: tuple[int, ...]


def rank_words(spec: PlantedScores, documents: Sequence[Document], labels: LabelSet) -> Ranked:
    """Rank words for every label by training documents, and by the label's own text.

    Unlabelled documents lend words, no counts.

    Raises:
        EncoderError: If no word is frequent enough.
        LabelError: If a document has a label that is not in the set.
    """
    told = [labels.text_of(i, _LABEL_TEXT) for i in labels.ids] if spec.descriptions else []
    texts = [d.text for d in documents]
    index = WordIndex.learn(texts, spec.min_count, spec.words, told)
    labelled = [d for d in documents if d.labels is not None]
    truth = presence(([labels.position(i) for i in d.labels or ()] for d in labelled), len(labels))
    counts = [int(n) for n in truth.sum(axis=0).A1]
    found = relevance(
        presence(index.ids([d.text for d in labelled]), len(index)),
        truth,
        keep=spec.keep,
        normalised=spec.normalised,
        threads=torch.get_num_threads(),
    )
    if spec.descriptions:
        own = described(index, told, keep=spec.keep)
        found = blended(found, own, counts, prior=spec.prior, keep=spec.keep)
    return Ranked(index, found, tuple(counts))


def learn(
    spec: PlantedScores, ranked: Ranked, seed: int = 0, listener: Listener | None = None
) -> tuple[Ranker, dict[str, float]]:
    """Learn the ranking of every label; see ``learn_ranking``."""
    return learn_ranking(ranked.relevance, spec, seed, listener)
