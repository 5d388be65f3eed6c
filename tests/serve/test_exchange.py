"""FHIR and CDS Hooks over HTTP."""

import json
from dataclasses import replace
from importlib import resources

import pytest

from attending.serve.audit import entries

pytest.importorskip("fhir.resources")


def bundle(case, name):
    return json.loads((case(name) / "bundle.json").read_text())


def test_every_payload_kind_is_answered_in_fhir(serve, case):
    client = serve()
    values = json.loads((case("D27") / "expected.json").read_text())["values"]
    for release in ("R4", "R5"):
        answered = client.post("/v1/fhir", json=bundle(case, "D27"), params={"release": release})
        assert answered.status_code == 200
        assert answered.headers["content-type"] == "application/fhir+json"
        tasks = {
            t["focus"]["reference"]: t["priority"]
            for entry in answered.json()["entry"]
            if (t := entry["resource"])["resourceType"] == "Task"
        }
        assert list(tasks) == [f"Communication/{i}" for i in values["texts"]]
        for unread in values["flags"]:
            assert tasks[f"Communication/{unread}"] != "routine"
    (last,) = list(entries(client.service.settings.audit_file))[-1:]
    assert (last["action"], last["ids"]) == ("score-fhir", list(values["texts"]))


def test_lines_of_resources_are_read_too(serve, case):
    client = serve()
    lines = "\n".join(json.dumps(e["resource"]) for e in bundle(case, "D28")["entry"])
    answered = client.post("/v1/fhir", content=lines)
    kinds = [e["resource"]["resourceType"] for e in answered.json()["entry"]]
    assert kinds.count("Task") == 4


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "null", '{"a": 1}', '{"resourceType": "Patient"}', "[" * 5000, "\ud800",
     '{"resourceType": "Communication", "payload": [{"contentString": "\\ud800"}]}'],
)  # fmt: skip
def test_what_is_no_fhir_is_refused_without_a_fault(serve, body):
    client = serve()
    sent = body.encode("utf-8", "surrogatepass")
    for path in ("/v1/fhir", "/cds-services/attending"):
        answered = client.post(path, content=sent)
        assert answered.status_code in (200, 400, 412, 422), (path, answered.text)


def test_cards_are_given_for_what_should_not_wait(serve, case):
    client = serve()
    (service,) = client.get("/cds-services").json()["services"]
    assert service["hook"] == "patient-view"
    call = {"hook": "patient-view", "prefetch": {"messages": bundle(case, "D27")}}
    cards = client.post(f"/cds-services/{service['id']}", json=call).json()["cards"]
    assert cards
    assert all(len(c["summary"]) <= 140 for c in cards)
    none = {"prefetch": {"messages": {"resourceType": "Bundle", "type": "searchset"}}}
    assert client.post("/cds-services/attending", json=none).json() == {"cards": []}
    assert client.post("/cds-services/attending", json={"hook": "x"}).status_code == 412


def test_the_map_of_the_start_holds_for_all_answers(serve, case, tmp_path):
    path = tmp_path / "map.toml"
    text = resources.files("attending.serve").joinpath("urgency.toml").read_text("utf-8")
    path.write_text(text)
    client = serve(priorities=path)
    message = bundle(case, "D27")

    def said():
        answered = client.post("/v1/fhir", json=message).json()["entry"]
        tasks = [e["resource"] for e in answered if e["resource"]["resourceType"] == "Task"]
        call = {"prefetch": {"messages": message}}
        shown = client.post("/cds-services/attending", json=call).json()["cards"]
        return [t["priority"] for t in tasks], [c["indicator"] for c in shown]

    path.unlink()
    first = said()
    assert "urgent" in first[0]
    path.write_text(text.replace('= "urgent"', '= "asap"'))
    assert said() == first
    assert client.post("/v1/predict", json={"texts": ["chest pain"]}).status_code == 200


def test_labels_named_after_a_code_system_are_its_codes(serve, model_folder, case):
    from attending.models.store import load_model

    def coded(folder):
        model = load_model(folder)
        model.labels = replace(model.labels, name="icd10cm")
        return model

    client = serve(load=coded)
    client.service.predictor.load()
    answered = client.post("/v1/fhir", json=bundle(case, "D27")).json()["entry"]
    assert "Condition" in {e["resource"]["resourceType"] for e in answered}


def test_what_became_of_cards_is_kept_without_comments(serve):
    client = serve()
    card = "b66aed4f-1dc7-5573-856d-ff1de2ab4289"
    reason = {"reason": {"code": "urgent"}, "userComment": "ZXQ-MARKER"}
    given = [
        {"card": card, "outcome": "overridden", "overrideReason": reason},
        {"card": card, "outcome": "accepted", "acceptedSuggestions": [{"id": "x"}]},
    ]
    at = "/cds-services/attending/feedback"
    assert client.post(at, json={"feedback": given}).status_code == 200
    lines = list(entries(client.service.settings.audit_file))
    assert [(x["action"], x["ids"], x.get("label")) for x in lines] == [
        ("overridden", [card], "urgent"), ("accepted", [card], None),
    ]  # fmt: skip
    assert "MARKER" not in client.service.settings.audit_file.read_text()
    assert client.post(at, json={"feedback": [{"card": "x"}]}).status_code == 422
