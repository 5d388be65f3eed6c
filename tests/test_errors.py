"""Errors: one clear line each."""

import copy
import pickle

import pytest

from attending import errors
from attending.errors import AttendingError, MissingExtra, nearest

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, AttendingError) and kind is not MissingExtra
]


def test_a_line_says_what_where_found_allowed_and_what_next():
    error = AttendingError(
        "the code is not in the label set",
        where="codes.csv line 14",
        found='"8000/9"',
        allowed="58 codes",
        step="Add it.",
    )
    assert str(error) == (
        'codes.csv line 14: the code is not in the label set (found "8000/9"; allowed: 58 codes). '
        "Add it."
    )
    assert (error.what, error.where, error.found, error.allowed, error.step) == (
        "the code is not in the label set",
        "codes.csv line 14",
        '"8000/9"',
        "58 codes",
        "Add it.",
    )


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (AttendingError("wrong"), "wrong."),
        (AttendingError("Really?"), "Really?"),
        (AttendingError("wrong", found="x"), "wrong (found x)."),
        (AttendingError("wrong", allowed="y"), "wrong (allowed: y)."),
        (AttendingError("wrong.", step="Fix it."), "wrong. Fix it."),
        (AttendingError("several\nlines", step="of\n\ttext"), "several lines. of text"),
    ],
)
def test_parts_may_be_left_out_and_lines_are_single(error, line):
    assert str(error) == line


@pytest.mark.parametrize("kind", KINDS)
def test_all_are_of_one_family_and_cross_process_borders(kind):
    """Worker processes send errors back pickled; scikit-learn's searches use such workers."""
    error = kind("wrong", where="here", found="x", allowed="y", step="Fix it.")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_the_family_is_complete():
    assert len(KINDS) == 13


def test_a_missing_extra_says_what_to_type():
    error = MissingExtra("pyarrow", "parquet", "reading Parquet")
    assert str(error) == (
        "reading Parquet needs the package pyarrow, which is not installed. "
        'Install it with: pip install "attending[parquet]"'
    )
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is MissingExtra and str(again) == str(error)


def test_the_nearest_name():
    assert nearest("urgnt", ["urgent", "routine"]) == ' Did you mean "urgent"?'
    assert nearest("zzz", ["urgent", "routine"]) == ""
    assert nearest("x", []) == ""
