"""Bodies of requests and answers, as the API's description shows them."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

MessageId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:/|@+=-]{1,128}$")]
"""An id: no blanks, so that no words of a message can pass for one."""
LabelId = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_EXAMPLE = "Chest pain since this morning and my left arm is numb."


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MessageIn(_Body):
    """One text with your own id of it."""

    id: MessageId = Field(description="Comes back in the answer and goes into the audit.")
    text: str | None = Field(description="The text; one that shows nothing gets `empty_text`.")


class PredictIn(_Body):
    """Texts to answer: `texts`, or `documents` with ids."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"texts": [_EXAMPLE, "Please send my refill to the pharmacy."]},
                {"documents": [{"id": "msg-17", "text": _EXAMPLE}], "evidence": True, "top_k": 2},
            ]
        },
    )

    texts: list[str | None] | None = Field(None, min_length=1, description="Texts; ids are row-N.")
    documents: list[MessageIn] | None = Field(None, min_length=1, description="Texts with ids.")
    evidence: bool = Field(False, description="Add the words that spoke for each label given.")
    top_k: int | None = Field(None, ge=1, le=10_000, description="Only so many best scores each.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.texts is None) == (self.documents is None):
            raise PydanticCustomError("one_of", "give either texts or documents")
        return self


class ExplainIn(_Body):
    """One text, whose labels are to be explained."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"text": _EXAMPLE}, {"text": _EXAMPLE, "id": "msg-17"}]},
    )

    text: str | None = Field(description="The text.")
    id: MessageId = Field("row-1", description="Your own id of it.")
    method: str | None = Field(
        None, max_length=40, description="One of the model's methods; its best if left out."
    )
    labels: list[LabelId] = Field(
        default_factory=list, max_length=20, description="Labels; those given if left out."
    )


class MessagesIn(_Body):
    """Messages for the inbox."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"documents": [{"id": "msg-17", "text": _EXAMPLE}]}]},
    )

    documents: list[MessageIn] = Field(min_length=1, description="Texts with ids.")


class CorrectionIn(_Body):
    """The labels that a person gives a message of the inbox."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"labels": ["urgent"]}]}
    )

    labels: list[LabelId] = Field(max_length=200, description="Label ids; none if none applies.")
    note: str | None = Field(None, max_length=2000, description="Why; kept with the message.")


class Model(BaseModel):
    """Who answered."""

    name: str = Field(description="The model's name.", examples=["tfidf-logistic"])
    version: str = Field(description="Changes whenever answers may.", examples=["3f1c09aa27d4"])


class EvidenceOut(BaseModel):
    """Words that spoke for a label."""

    label: str | None = Field(description="The label; none where no single one owns them.")
    start: int = Field(description="First character, counted in Unicode code points from 0.")
    end: int = Field(description="The character after the last.")
    score: float = Field(description="How much; comparable within a text.")
    words: str = Field(description="The words themselves.")


class ReadOut(BaseModel):
    """How much of a text was read."""

    tokens: int = Field(description="Tokens that were read.")
    of: int = Field(description="Tokens that there are.")
    windows: int = Field(description="In how many pieces.")
    truncated: bool = Field(False, description="True where some of it was not read; else left out.")
    end: int | None = Field(
        None, description="Where reading stopped, if before the end of the text."
    )


class PredictionOut(BaseModel):
    """What the model says of one text."""

    id: str = Field(description="Your id, or row-N.")
    status: Literal["ok", "empty_text", "too_long", "failed"] = Field(
        description="Only `ok` has labels; hand everything else to a person."
    )
    labels: list[str] = Field(description="Label ids.")
    scores: dict[str, float] = Field(description="Label id to probability, highest first.")
    abstained: bool = Field(description="Whether the model was too unsure to give a label.")
    priority: Literal["routine", "urgent", "asap", "stat"] | None = Field(
        description="FHIR priority by the service's map, which never makes the unread routine; "
        "FHIR's `urgent` is its second lowest. None where there is no map."
    )
    read: ReadOut
    evidence: list[EvidenceOut] = Field(description="In text order; empty unless asked for.")
    reason: str | None = Field(None, description="Why the status is not `ok`.")


class PredictOut(BaseModel):
    """Answers in the order of the texts."""

    model: Model
    predictions: list[PredictionOut]
    request_id: str = Field(description="Names the request in log and audit.")


class ExplainOut(BaseModel):
    """An answer with the words that spoke for it."""

    model: Model
    prediction: PredictionOut
    method: str = Field(description="How words were scored.")
    caution: str = Field(description="What evidence can't say; show it beside.")
    request_id: str = Field(description="Names the request in log and audit.")


class LabelOut(BaseModel):
    """A label and what it means."""

    id: str
    name: str
    description: str
    keywords: list[str]
    synonyms: list[str]
    parent: str | None
    priority: Literal["routine", "urgent", "asap", "stat"] | None


class LabelsOut(BaseModel):
    """The model's labels."""

    name: str = Field(description="What they say of a text.")
    ordered: bool = Field(description="Whether they go from least to most.")
    count: int = Field(description="How many there are.")
    labels: list[LabelOut] = Field(description="Those asked for, in order.")


class ModelOut(BaseModel):
    """The model and how the service runs it."""

    model: Model
    software: str = Field(description="Version of Attending.")
    recipe: str
    task: str = Field(description="`single`: one label a text; `multi`: any number.")
    labels: int = Field(description="How many labels there are.")
    label_set: str = Field(description="Hash of the labels and their meaning.")
    methods: list[str] = Field(description="How evidence can be computed, best first.")
    decision: dict[str, Any] = Field(description="How scores become labels.")
    metrics: dict[str, Any] = Field(description="Figures on development rows.")
    facts: dict[str, Any] = Field(description="What is known of its training.")
    limits: dict[str, float] = Field(description="What a request may hold.")
    notice: str = Field(description="What it is not.")


class StateOut(BaseModel):
    """How the service is."""

    status: Literal["alive", "ready", "loading", "failed", "stopping"]
    model: Literal["loading", "ready", "failed"]


class StoredOut(BaseModel):
    """Messages that stand in the inbox now."""

    model: Model
    messages: list[int] = Field(description="Their numbers in the inbox, in the order given.")
    predictions: list[PredictionOut]
    request_id: str = Field(description="Names the request in log and audit.")


class CorrectedOut(BaseModel):
    """A correction that was kept."""

    message: int
    labels: list[str]
    reviewer: str


def field_names() -> frozenset[str]:
    """Return the names of all fields of bodies: what an error may name."""
    bodies: list[type[BaseModel]] = [MessageIn, PredictIn, ExplainIn, MessagesIn, CorrectionIn]
    own = {name for body in bodies for name in body.model_fields}
    return frozenset(own | {"body", "query", "path", "release", "offset", "limit", "message"})
