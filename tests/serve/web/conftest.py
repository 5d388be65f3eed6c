"""The service with an inbox, asked without a network."""

import re

import pytest

CSV = """id,text,patient,sent
m1,thank you all is well,Patient/1,2026-03-01T07:00:00Z
m2,chest pain and short of breath,Patient/2,2026-03-01T09:00:00Z
m3,   ,Patient/3,2026-03-01T11:00:00Z
m4,<script>alert(1)</script> chest pain & <b>dizzy</b>,Patient/4,2026-03-01T08:00:00Z
m5,too,many,cells,here
"""


@pytest.fixture
def client(serve, store):
    """Return a client of a service with an inbox."""
    return serve(store=store)


@pytest.fixture
def upload(client):
    """Return a function that uploads a file and returns the page that answers."""

    def send(body=CSV, name="morning.csv"):
        data = body.encode() if isinstance(body, str) else body
        return client.post("/inbox/upload", files={"file": (name, data)})

    return send


@pytest.fixture
def listed():
    """Return a function from a page to the ids of its messages, in order."""
    return lambda page: [
        int(i) for i in re.findall(r'class="line" [^>]*data-id="(\d+)"', page.text)
    ]
