"""Scoring on a Ray cluster through Ray Data: actors hold the model, this process writes parts.

The model folder must be readable under the same path on every node. Text goes from this process
to the actors and nowhere else; lines of predictions come back.
"""

import logging
import pickle
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from attending.errors import MissingExtra
from attending.scoring.chunks import Chunk, Scored, score_chunk, write_part
from attending.scoring.local import Loading

_AT_ONCE = 64
"""Chunks of one Ray data set: the rows of so many are in memory at a time."""


class Scorer:
    """What an actor does: loads the model once, scores chunks.

    Args:
        load: Loads the model.
        evidence: Whether words behind each label are wanted.
    """

    def __init__(self, load: Loading, evidence: bool) -> None:
        self._model, self._evidence = load(), evidence

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Score the chunks of a batch, each given and returned as bytes."""
        found = [
            score_chunk(self._model, pickle.loads(packed), self._evidence)
            for packed in batch["chunk"]
        ]
        return {"scored": [pickle.dumps(scored) for scored in found]}


def run_on_ray(
    load: Loading,
    todo: Iterator[Chunk],
    parts: Path,
    evidence: bool,
    workers: int | None,
    done: Callable[[Scored], None],
) -> None:
    """Score chunks on the cluster that Ray is connected to, or on a local one that it starts.

    Args:
        load: Loads the model, from a folder that is on every node.
        todo: The chunks to score.
        parts: Where parts are written, by this process.
        evidence: Whether words behind each label are wanted.
        workers: How many actors; as many as the cluster has processors if unset.
        done: Told of each finished chunk.

    Raises:
        MissingExtra: If Ray isn't installed.
    """
    try:
        import ray
        from ray import data
    except ImportError:
        raise MissingExtra("ray", "scale", "--engine ray") from None
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR)
    data.DataContext.get_current().enable_progress_bars = False
    resources: Callable[[], dict[str, float]] = ray.cluster_resources
    actors = workers or max(1, int(resources().get("CPU", 1)))
    while found := list(islice(todo, _AT_ONCE)):
        rows = [{"chunk": pickle.dumps(chunk)} for chunk in found]
        scored = data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            Scorer,
            fn_constructor_args=(load, evidence),
            batch_size=1,
            compute=data.ActorPoolStrategy(min_size=1, max_size=min(actors, len(rows))),
            num_cpus=1,
        )
        for row in scored.iter_rows():
            outcome: Scored = pickle.loads(row["scored"])
            write_part(parts, outcome)
            done(outcome)
