"""Which of a document's forms is read."""

import base64

import pytest

from attending.data.fhir.bounds import Bounds
from attending.data.fhir.payloads import read_document


def form(content, kind="text/plain"):
    return {"contentType": kind, "data": base64.b64encode(content).decode()}


GOOD = form(b"<p>pain", "text/html")
CUT = form(b"<p>some<script>", "text/html")
PDF = form(b"%PDF-", "application/pdf")
BROKEN = form(b"\xff\xfe\xfd")
BLANK = form(b" \n")


@pytest.mark.parametrize(
    ("forms", "text", "flags"),
    [
        ([GOOD, form(b"plain")], "plain", ()),
        ([form(b""), GOOD], "pain", ()),
        ([BLANK, GOOD], "pain", ()),
        ([BROKEN, GOOD], "pain", ()),
        ([CUT, form(b"<p>whole", "application/xhtml+xml")], "whole", ()),
        ([BROKEN, CUT], "some", ("markup_not_closed",)),
        ([form(b""), BROKEN], None, ("attachment_broken",)),
        ([PDF, form(b"")], None, ("attachment_skipped:application/pdf",)),
        ([PDF, {"contentType": "text/plain"}], None, ("attachment_skipped:application/pdf",)),
        ([form(b"")], "", ()),
    ],
)
def test_the_plainest_form_that_holds_text(forms, text, flags):
    resource = {
        "resourceType": "DocumentReference",
        "content": [{"attachment": attachment} for attachment in forms],
    }
    content = read_document(resource, Bounds())
    assert (content.text, content.flags) == (text, flags)
