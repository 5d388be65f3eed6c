"""HTML to text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.fhir.markup import text_of_html


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("plain &amp; simple", "plain & simple"),
        ("BP 90 < 100 &gt; 80", "BP 90 < 100 > 80"),
        ("a&nbsp;b &#233; &#x1F600; &unknown;", "a\xa0b é 😀 &unknown;"),
        ("one<br>two<br/><br>three", "one\ntwo\n\nthree"),
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("<div>one</div><div>two <b>bold</b>er</div>", "one\ntwo bolder"),
        ("<div><div>one</div></div>\n<div>two</div>", "one\ntwo"),
        ("a  \n b <i> c</i>d", "a b cd"),
        ("no<b>pain</b>now", "nopainnow"),
        ("<ul><li>chest pain<li>cough</ul>after", "- chest pain\n- cough\n\nafter"),
        ("<table><tr><td>BP</td><td>120</td></tr><tr><td>HR</td><td>80</td></table>",
         "BP\t120\nHR\t80"),
        ("<pre>a\n  b\n\nc</pre>", "a\n  b\n\nc"),
        ("<script>alert('x')</script>safe<style>p{}</style>", "safe"),
        ("<SCRIPT type='x'>a</SCRIPT >safe", "safe"),
        ("<script/>kept", "kept"),
        ("<!-- hidden -->seen<template>t</template>", "seen"),
        ("<html><head><title>T</title><meta><body>b", "b"),
        ("<!DOCTYPE html><html><body><p>x</body></html>", "x"),
        ("<!DOCTYPE html><html><head><meta charset=utf-8><title>T</title><p>pain", "pain"),
        ("<head><style>p{}</style><title>T</title>\n pain <b>now</b></html>", "pain now"),
        ("<head><title>T</title>&#112;ain<head><head>now", "painnow"),
        ("<head><noscript><link href=x></noscript><script>s</script><textarea>typed", "typed"),
        ("<head><template>t<p>u</template><br>pain", "pain"),
        ("<a href='javascript:x()' onclick='y'>link</a><img src=x onerror=z>", "link"),
        ("<p a==\">pain</p> 'now'", "pain\n\n'now'"),
        ("<p class=it's id=\"a>b\">pain</p>", "pain"),
        ("<p a= >pain", "pain"),
        ("</div></p>x</span>", "x"),
        ("<textarea>typed</textarea>", "typed"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_a_reader_would_see(markup, text):
    assert text_of_html(markup) == (text, True)


@pytest.mark.parametrize(
    "markup",
    ["a<script>b", "a<style>p {", "<p>a<object>b", "<head>a<object>b", "<p>a<template><head>b<p>c"],
)
def test_what_is_never_closed_is_told(markup):
    text, whole = text_of_html(markup)
    assert (text, whole) == ("a", False)


@given(st.text())
def test_no_markup_breaks_it(markup):
    text, _ = text_of_html(markup)
    assert text == text.strip("\n")


@given(
    st.lists(
        st.sampled_from(
            [
                "<p>",
                "</p>",
                "<script>",
                "</script>",
                "<!--",
                "-->",
                "<pre>",
                "</pre>",
                "<li>",
                "<td>",
                "x",
                " ",
                "\n",
                "&lt;",
                "<",
                "</",
                "<br>",
            ]
        )
    )
)
def test_no_order_of_tags_breaks_it(pieces):
    text, whole = text_of_html("".join(pieces))
    assert "script" not in text or not whole or "<" in text


@pytest.mark.parametrize(
    "piece",
    [
        "<!--",
        "<",
        "</",
        "<a ",
        "&",
        "<script>",
        "<p",
        '<a b="',
        "<td>x",
        "<object></template>",
        "<object>",
        "<head>",
        "<head>x",
        "<li>",
        "<pre>\n",
        "&#x1",
        "x<b> ",
    ],
)
def test_time_stays_bounded(piece):
    started = time.perf_counter()
    text_of_html(piece * 20_000)
    assert time.perf_counter() - started < 5
