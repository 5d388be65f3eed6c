"""The training words that vote in a tagger: of training rows alone, as the model scores them."""

import numpy as np

from attending import registry
from attending.models.tagger import TaggerModel
from attending.training.tagging_rows import TaggedRows


def with_neighbours(model: TaggerModel, rows: TaggedRows) -> None:
    """Give a model the words of its training rows, if its recipe lets them vote."""
    spec = model.recipe.get("neighbours")
    if spec is None:
        return
    scored = model.scores(rows.documents)
    logits = np.concatenate([s.logits for s in scored])
    model.neighbours = registry.build(
        spec,
        logits=model.places(logits, [len(s.numbers) for s in scored]).astype(np.float32),
        tags=np.concatenate([t[s.numbers] for s, t in zip(scored, rows.targets, strict=True)]),
    )
