"""How a text becomes model input."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Spec


class Windows(Spec):
    """How a text becomes model input: windows of tokens over the whole text."""

    slot: ClassVar[str] = "windows"
    kind: Literal["tokens"] = "tokens"
    max_tokens: int = Field(256, ge=4, description="tokens a window, special ones included")
    overlap: int = Field(
        32, ge=0, description="tokens shared by neighbouring windows; at most half"
    )
    on_overflow: Literal["window", "truncate", "error"] = Field(
        "window", description="a longer text: more windows, only the first, or status too_long"
    )
    most_tokens: int = Field(
        32_768,
        ge=1,
        description="tokens of a text that are read at most, in all its windows: what bounds time "
        "and memory for a file of megabytes; `read` says how far it went",
    )
    join: Literal["logits", "tokens"] = Field(
        "logits",
        description="a longer text: logits: each window is scored by itself (as published); "
        "tokens: labels attend over the whole text, each token once",
    )
    pool: Literal["max", "mean"] = Field("max", description="how windows' logits become one")
