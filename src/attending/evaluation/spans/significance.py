"""Is the difference between two taggers more than luck: paired randomisation over documents."""

from collections.abc import Sequence

from attending.errors import ShapeError
from attending.evaluation.counts import FloatArray
from attending.evaluation.multilabel.outcome import Sparse
from attending.evaluation.significance import PairedTest
from attending.evaluation.spans.counts import SpanCounts, sums_of
from attending.evaluation.spans.figures import FAMILIES, family_of, is_mean_over_types
from attending.evaluation.sums import compare_sums, lay_runs

Runs = SpanCounts | Sequence[SpanCounts]


def paired_spans(
    a: Runs,
    b: Runs,
    metric: str = "strict_micro_f1",
    *,
    types: Sequence[str] | None = None,
    rounds: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> PairedTest:
    """Test whether two taggers differ on the same documents by approximate randomisation.

    a and b are the counts of one set of predictions each (``count_spans``), or of one for each
    seed; a single one is set against all of the other. Every seed may have a test part of its own;
    a document is then the same in all parts by its id. In each round all that the taggers found in
    a random half of the documents, all seeds together, changes places; the statistic is the
    difference of the means over seeds.

    ``metric`` is any figure over all types of ``SpanResult.metrics``. ``types`` compares some
    types alone, such as those of the tail; figures that go across types (exact, partial and type
    over all types, those with 'O') have no meaning then.

    Raises:
        ShapeError: If documents, gold entities or types differ, or the runs don't pair.
        DataError: If the metric is unknown or undefined for a tagger.
        LabelError: If a type is not in the label set.
    Source: Noreen 1989; Yeh 2000, arXiv:cs/0008005.
    """
    first, second = _paired(a, b)
    blocks, figures = FAMILIES[family_of(metric, some_types=types is not None)]
    labels = first[0].labels
    places = None if types is None else [labels.position(i) for i in types]
    width = len(labels) if places is None else len(places)

    def score(sums: FloatArray) -> FloatArray:
        return figures(sums_of(sums, blocks, width))[metric]

    def lay(runs: Sequence[SpanCounts]) -> Sparse:
        return lay_runs([x.ids for x in runs], [x.laid(blocks, places) for x in runs])

    return compare_sums(
        metric if types is None else f"{metric} of {width} types",
        lay(first),
        lay(second),
        score,
        runs=len(first),
        rounds=rounds,
        seed=seed,
        confidence=confidence,
        centre=is_mean_over_types(metric),
    )


def _paired(a: Runs, b: Runs) -> tuple[list[SpanCounts], list[SpanCounts]]:
    first = [a] if isinstance(a, SpanCounts) else list(a)
    second = [b] if isinstance(b, SpanCounts) else list(b)
    number = max(len(first), len(second))
    if not first or not second or len({len(first), len(second)} - {1}) > 1:
        raise ShapeError(
            "the taggers don't have as many runs",
            found=f"{len(first)} and {len(second)}",
            allowed="as many runs in both, or one in one",
        )
    first, second = (x * (number // len(x)) for x in (first, second))
    for one, other in zip(first, second, strict=True):
        if not _same_truth(one, other) or one.labels.ids != first[0].labels.ids:
            raise ShapeError(
                "the taggers were not scored on the same documents and types",
                found=f"{len(one.ids)} and {len(other.ids)} documents",
                allowed="equal ids, gold entities, words and types",
            )
    return first, second


def _same_truth(a: SpanCounts, b: SpanCounts) -> bool:
    if a.ids != b.ids or a.labels.ids != b.labels.ids:
        return False
    return not any((a.by_type[k] != b.by_type[k]).nnz for k in ("gold", "words_gold"))
