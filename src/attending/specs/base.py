"""One description per part: the base of all specs."""

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Spec(BaseModel):
    """Base of all specs: frozen, no unknown keys, one ``slot`` and one ``kind``."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )

    slot: ClassVar[str]
    kind: str

    def needs(self) -> tuple[str, ...]:
        """Return the optional slots that this part, with these settings, can't do without."""
        return ()
