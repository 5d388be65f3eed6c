"""Short trainings of a tiny network, and what a run leaves behind."""

import gc
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from attending.training.fit import Fitted, fit


@pytest.fixture(scope="session")
def train(messages: Any, urgency: Any, tiny_recipe: Callable[..., Any]) -> Callable[..., Fitted]:
    """Return a function that fits a tiny recipe on 40 messages, with 8 as development rows."""

    def run(
        recipe: str = "lesa-bert",
        rows: Iterable[Any] | None = None,
        *,
        seed: int = 0,
        run: Any = None,
        listener: Any = None,
        **settings: Any,
    ) -> Fitted:
        options: dict[str, Any] = {"seed": seed, "run": run, "listener": listener}
        if rows is None:
            rows = messages[8:]
            options["development"] = messages[:8]
        if "development" in settings:
            options["development"] = settings.pop("development")
        labels = settings.pop("labels", urgency)
        return fit(tiny_recipe(recipe, **settings), tuple(rows), labels, **options)

    return run


@pytest.fixture(scope="session", autouse=True)
def _light_collections() -> None:
    """Keep what the libraries hold out of the collections that each training starts."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def same() -> Callable[[Fitted, Fitted], bool]:
    """Return a function that says whether two fitted networks are equal bit for bit."""
    import torch

    def compare(one: Fitted, other: Fitted) -> bool:
        mine, yours = (f.model.network.state_dict() for f in (one, other))
        assert mine.keys() == yours.keys()
        return all(torch.equal(mine[name], yours[name]) for name in mine)

    return compare
