"""Answers in JSON that can always be sent."""

import json
from typing import Any

from starlette.responses import JSONResponse


class Json(JSONResponse):
    """JSON in ASCII: half a surrogate pair in a message has no other form that can be sent."""

    def render(self, content: Any) -> bytes:
        """Return the bytes of a body."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
