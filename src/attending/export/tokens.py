"""A tokenizer as it was saved, called in the way in which windows call transformers' own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from attending.errors import ModelError


class FastTokenizer:
    """The core of a fast tokenizer, without transformers.

    Args:
        core: The tokenizer; nothing is cut and nothing padded by it.
    """

    def __init__(self, core: Tokenizer) -> None:
        core.no_truncation()
        core.no_padding()
        # A message may hold the letters "[SEP]".
        core.encode_special_tokens = True
        self._core = core

    @classmethod
    def read(cls, path: Path) -> "FastTokenizer":
        """Read ``tokenizer.json``.

        Raises:
            ModelError: If it is missing or damaged.
        """
        try:
            return cls(Tokenizer.from_file(str(path)))
        except Exception as error:  # the library raises bare exceptions
            what = f"the tokenizer can't be read ({type(error).__name__})"
            raise ModelError(what, where=str(path)) from None

    @property
    def words(self) -> int:
        """How many different tokens there are."""
        return int(self._core.get_vocab_size())

    def get_vocab(self) -> dict[str, int]:
        """Return all tokens with their ids."""
        return dict(self._core.get_vocab())

    def __call__(
        self, texts: str | Sequence[str], *, add_special_tokens: bool, **_: object
    ) -> dict[str, Any]:
        """Return ``input_ids`` and ``offset_mapping`` of a text, or one of each per text."""
        if isinstance(texts, str):
            found = self._core.encode(texts, add_special_tokens=add_special_tokens)
            return {"input_ids": found.ids, "offset_mapping": found.offsets}
        all_found = self._core.encode_batch(list(texts), add_special_tokens=add_special_tokens)
        return {
            "input_ids": [f.ids for f in all_found],
            "offset_mapping": [f.offsets for f in all_found],
        }
