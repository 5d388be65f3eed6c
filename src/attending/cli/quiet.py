"""Keep the libraries' own messages off the screen: what a person must know, Attending says."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_SETTINGS = {
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
}


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings, log lines and progress bars of libraries; what the user set is kept."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    # With a handler in place, Python's handler of last resort prints no warning to the screen.
    root, silence = logging.getLogger(), logging.NullHandler()
    root.addHandler(silence)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeHandler(silence)
