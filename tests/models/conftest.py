"""Tiny fitted models, one of each kind, for read-only use."""

from collections.abc import Callable
from typing import Any

import pytest

from attending.training.fit import fit


@pytest.fixture(scope="session")
def neural(messages: Any, urgency: Any, tiny_recipe: Callable[..., Any]) -> Any:
    """Return a LESA model, fitted on 24 messages, with 24 as development rows."""
    recipe = tiny_recipe("lesa-bert", training__epochs=1)
    return fit(recipe, messages[:24], urgency, development=messages[24:], seed=1).model


@pytest.fixture(scope="session")
def linear(messages: Any, urgency: Any, tiny_recipe: Callable[..., Any]) -> Any:
    """Return a logistic regression on words and word pairs, fitted on the same rows."""
    recipe = tiny_recipe("tfidf-logistic")
    return fit(recipe, messages[:24], urgency, development=messages[24:], seed=1).model
