"""Instants."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.fhir.moments import read_moment


@pytest.mark.parametrize(
    ("written", "utc"),
    [
        ("2024-03-10T23:30:00-08:00", "2024-03-11T07:30:00Z"),
        ("2024-03-11T07:40:00.123456789+00:00", "2024-03-11T07:40:00.123456789Z"),
        ("2024-03-11T07:40Z", "2024-03-11T07:40:00Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        ("0001-01-01T05:00:00Z", "0001-01-01T05:00:00Z"),
    ],
)
def test_a_time_with_a_zone(written, utc):
    moment = read_moment(written)
    assert (moment.written, moment.utc, moment.remark) == (written, utc, None)
    assert moment.when.tzinfo is UTC


@pytest.mark.parametrize("written", ["2024", "2024-03", "2024-03-11", "2024-03-11T07:45:00"])
def test_a_time_without_a_zone(written):
    assert (read_moment(written).when, read_moment(written).remark) == (None, "no_timezone")
    assumed = read_moment(written, ZoneInfo("Europe/Berlin"))
    assert assumed.remark == "no_timezone"
    assert assumed.when.year in (2023, 2024)


def test_summer_time_is_that_of_the_zone():
    when = read_moment("2024-07-01T12:00:00", ZoneInfo("Europe/Berlin")).when
    assert when == datetime(2024, 7, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    ["", "yesterday", 7, [], "2024-13-01", "2024-02-30T00:00:00Z", "2024-03-11T25:00:00Z",
     "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:60Z", "2024-03-11T07:45:00+99:00",
     "٢٠٢٤-03-11"],
)  # fmt: skip
def test_what_is_no_time_is_left_out(value):
    moment = read_moment(value)
    assert (moment.written, moment.when, moment.remark) == (None, None, "bad_time")


@given(st.datetimes(timezones=st.timezones()))
def test_any_instant_comes_back(when):
    written = when.replace(microsecond=0, tzinfo=None).isoformat()
    offset = when.utcoffset()
    if offset.total_seconds() % 60:
        return
    sign, minutes = ("-", -offset) if offset.total_seconds() < 0 else ("+", offset)
    total = int(minutes.total_seconds()) // 60
    moment = read_moment(f"{written}{sign}{total // 60:02}:{total % 60:02}")
    if moment.when is not None:
        assert moment.when.timestamp() == when.replace(microsecond=0).timestamp()
