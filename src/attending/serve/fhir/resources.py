"""FHIR resources from a prediction: Task, Condition, Provenance, and the Device that they name."""

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from attending.records import LabelSet, Prediction, Row
from attending.serve.fhir.coding import spelled
from attending.serve.fhir.evidence import coding, label_extensions
from attending.serve.fhir.releases import (
    Release,
    Resource,
    clinical_status,
    device_name,
    evidence,
    reason,
)
from attending.serve.identity import identity, is_from_fhir, is_told_apart, reference_of
from attending.serve.maker import Maker
from attending.serve.placing import Place, attributes_of, place, reading_of, told
from attending.serve.priorities import UNREAD, Priorities

TASK_IDS = "urn:attending:task"
DEVICE_IDS = "urn:attending:model"
CONDITION_IDS = "urn:attending:condition"
READINGS = "urn:attending:reading"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:attending")
_VERIFICATION = "http://terminology.hl7.org/CodeSystem/condition-ver-status"
_PARTICIPANT = "http://terminology.hl7.org/CodeSystem/provenance-participant-type"
_ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
# HL7's security label for what a machine asserted: readers may filter by it.
_ASSERTED = {
    "security": [
        {"system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue", "code": "AIAST"}
    ]
}
_CAUTION = "Orders what people read and suggests codes to people. Not a medical device."


@dataclass(frozen=True, slots=True)
class Frame:
    """What all resources of one output have in common.

    Args:
        release: Of FHIR.
        labels: Of the model.
        maker: The model by name and version.
        recorded: When it was said, with a zone.
        priorities: Label -> priority, for a queue; ``None`` where labels are codes.
        system: URL of the code system where labels are codes.
        bundled: Whether resources refer to each other within a bundle (``urn:uuid:``).
    """

    release: Release
    labels: LabelSet
    maker: Maker
    recorded: str
    priorities: Priorities | None = None
    system: str | None = None
    bundled: bool = False
    _seen: Counter[str] = field(default_factory=Counter)

    def device(self) -> Resource:
        """Return the model as a Device."""
        id_ = self._id("Device")
        return {
            "resourceType": "Device",
            "id": id_,
            "identifier": [{"system": DEVICE_IDS, "value": id_}],
            **device_name(self.release, self.maker.name, "Text classifier (software)"),
            "version": [
                {"type": {"text": "model"}, "value": self.maker.version},
                {"type": {"text": "Attending"}, "value": self.maker.software},
            ],
            "note": [{"text": _CAUTION}],
        }

    def of(self, row: Row, prediction: Prediction) -> Iterator[Resource]:
        """Yield the resources of one row: what to do or what was found, then its Provenance.

        Raises:
            LabelError: If the prediction has a label that is not in the map or the label set.
        """
        focus = self._focus(row)
        key = self._key(row)
        made: list[Resource] = []
        if self.system is None:
            made.append(self._task(row, prediction, focus, key, self._place(row, prediction)))
        else:
            made += (self._condition(row, prediction, focus, key, x) for x in prediction.labels)
            reading = reading_of(row, prediction)
            if reading != "read":
                made.append(self._task(row, prediction, focus, key, Place(UNREAD, reading)))
        yield from made
        yield self._provenance(made, focus, key)

    def _key(self, row: Row) -> str:
        """Return what the ids of a row's resources are made of."""
        same = identity(row)
        if not is_told_apart(row):  # another message of another run may look the same
            same = f"{same}\x1f{self.recorded}"
        # The same message may occur twice in a file; each row still has resources of its own.
        self._seen[same] += 1
        return f"{same}#{self._seen[same]}"

    def _place(self, row: Row, prediction: Prediction) -> Place:
        return place(row, prediction, self.priorities or Priorities({}))

    def _task(
        self, row: Row, prediction: Prediction, focus: Resource, key: str, where: Place
    ) -> Resource:
        id_ = self._id("Task", key)
        task: Resource = {
            "resourceType": "Task",
            "id": id_,
            "meta": _ASSERTED,
            **_known_by(row, TASK_IDS, id_),
            "status": "requested",
            "intent": "proposal",
            "priority": where.priority,
            "code": {"text": "Read this message"},
            "focus": focus,
            "authoredOn": self.recorded,
            "businessStatus": {
                "coding": [{"system": READINGS, "code": where.reading}],
                "text": told(where.reading, row, prediction),
            },
        }
        if where.label is not None:
            task |= reason(self.release, {"coding": [coding(where.label, self.labels)]})
        if self.system is None:
            found = label_extensions(row, prediction, self.labels)
            task |= {"extension": found} if found else {}
        subject = _subject(row)
        return task | ({"for": subject} if subject else {})

    def _condition(
        self, row: Row, prediction: Prediction, focus: Resource, key: str, label: str
    ) -> Resource:
        id_ = self._id("Condition", key, label)
        code = {"system": self.system, "code": spelled(label, str(self.system))}
        name = self.labels[label].name
        description = name if name != label else self.labels[label].description
        unknown = {"extension": [{"url": _ABSENT, "valueCode": "unknown"}]}
        return {
            "resourceType": "Condition",
            "id": id_,
            "meta": _ASSERTED,
            "extension": label_extensions(row, prediction, self.labels, only=label),
            **_known_by(row, CONDITION_IDS, id_),
            **clinical_status(self.release),
            "verificationStatus": {"coding": [{"system": _VERIFICATION, "code": "provisional"}]},
            "code": {"coding": [code | ({"display": description} if description else {})]},
            "subject": _subject(row) or unknown,
            "recordedDate": self.recorded,
            **evidence(self.release, focus),
        }

    def _provenance(self, made: Sequence[Resource], focus: Resource, key: str) -> Resource:
        what = "Sorted by urgency" if self.system is None else "Coded"
        return {
            "resourceType": "Provenance",
            "id": self._id("Provenance", key),
            "target": [{"reference": self.reference(x)} for x in made],
            "recorded": self.recorded,
            "activity": {"text": f"{what} by a model"},
            "agent": [
                {
                    "type": {"coding": [{"system": _PARTICIPANT, "code": "assembler"}]},
                    "who": {"reference": self.reference(self.device()), "display": str(self.maker)},
                }
            ],
            "entity": [{"role": "source", "what": focus}],
        }

    def reference(self, resource: Mapping[str, Any]) -> str:
        """Return how another resource refers to one."""
        if self.bundled:
            return f"urn:uuid:{resource['id']}"
        return f"{resource['resourceType']}/{resource['id']}"

    def _focus(self, row: Row) -> Resource:
        """Return a reference to the message; by its id alone where it didn't come from FHIR."""
        named = reference_of(row)
        return {"reference": named} if named else {"identifier": {"value": row.id}}

    def _id(self, *parts: str) -> str:
        """Return an id that is the same whenever the same model says it of the same message."""
        said = "\x1f".join((self.maker.name, self.maker.version, self.release, *parts))
        return str(uuid.uuid5(_NAMESPACE, said))


def _known_by(row: Row, system: str, id_: str) -> Resource:
    """Return the identifier by which a server knows that it has a resource already.

    There is none where nothing tells the message from another one.
    """
    return {"identifier": [{"system": system, "value": id_}]} if is_told_apart(row) else {}


def _subject(row: Row) -> Resource | None:
    """Return whom a message is about: the FHIR reference, else what its file calls them."""
    if not is_from_fhir(row):
        group = getattr(row, "group", None)
        return {"identifier": {"value": group}} if group else None
    attributes = attributes_of(row)
    for key in ("subject", "sender"):
        name = attributes.get(key)
        is_patient = isinstance(name, str) and "Patient" in name.split("/")[:-1]
        if name and (key == "subject" or is_patient):
            return _referred(name)
    return None


def _referred(name: str) -> Resource:
    """Return a reference; a logical one was kept as ``system|value``."""
    system, bar, value = name.rpartition("|")
    if not bar:
        is_url = "/" in name or name.startswith(("urn:", "#"))
        return {"reference": name} if is_url else {"identifier": {"value": name}}
    return {"identifier": {"system": system, "value": value}}


def instant(moment: datetime) -> str:
    """Return a moment as FHIR writes it; the zone is there."""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
