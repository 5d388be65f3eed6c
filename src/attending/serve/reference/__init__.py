"""The API as a page: written from its OpenAPI description, without scripts, so it works offline."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from fastapi import APIRouter, Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

Schema = Mapping[str, Any]
_HERE = "attending.serve.reference"

router = APIRouter(prefix="/v1", include_in_schema=False)


@router.get("/docs")
async def page(request: Request) -> Response:
    """Show the API."""
    schema = request.app.openapi()
    return Response(render(schema), media_type="text/html; charset=utf-8")


@router.get("/docs.css")
async def style() -> Response:
    """Return the page's looks."""
    return Response(_style(), media_type="text/css; charset=utf-8")


def render(schema: Schema) -> str:
    """Return the page of an OpenAPI description."""
    paths = Environment(
        loader=PackageLoader(_HERE, "."), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True,
    )  # fmt: skip
    info = schema["info"]
    return paths.get_template("page.html.j2").render(
        title=info["title"],
        about=_paragraphs(info.get("description", "")),
        openapi=schema["openapi"],
        operations=list(_operations(schema)),
    )


@cache
def _style() -> str:
    return resources.files(_HERE).joinpath("page.css").read_text(encoding="utf-8")


def _operations(schema: Schema) -> Iterator[dict[str, Any]]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            body, example = _body(schema, operation)
            fields = [_parameter(p) for p in operation.get("parameters", ())]
            yield {
                "anchor": operation["operationId"],
                "method": method.upper(),
                "path": path,
                "summary": operation.get("summary", ""),
                "about": _paragraphs(operation.get("description", "")),
                "fields": [*fields, *({"place": "body"} | f for f in _fields(schema, body))],
                "example": example,
                "answer": list(_fields(schema, _answer(operation))),
                "statuses": [(s, r["description"]) for s, r in operation["responses"].items()],
            }


def _body(schema: Schema, operation: Schema) -> tuple[Schema, str | None]:
    """Return the schema of a body, and an example of one."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        of = _resolved(schema, content["schema"])
        found = content.get("example") or next(iter(of.get("examples", ())), None)
        return of, json.dumps(found, indent=2, ensure_ascii=False) if found else None
    return {}, None


def _answer(operation: Schema) -> Schema:
    for status in ("200", "201"):
        for content in operation["responses"].get(status, {}).get("content", {}).values():
            of: Schema = content.get("schema", {})
            return of
    return {}


def _fields(schema: Schema, of: Schema) -> Iterator[dict[str, Any]]:
    of = _resolved(schema, of)
    required = of.get("required", ())
    for name, field in of.get("properties", {}).items():
        meaning = field.get("description") or _resolved(schema, field).get("description", "")
        yield {
            "name": name,
            "required": name in required,
            "takes": _takes(field),
            "meaning": " ".join(meaning.split()),
        }


def _parameter(parameter: Schema) -> dict[str, Any]:
    return {
        "place": parameter["in"],
        "name": parameter["name"],
        "required": parameter.get("required", False),
        "takes": _takes(parameter["schema"]),
        "meaning": parameter.get("description", ""),
    }


def _takes(field: Schema) -> str:
    """Say what a field takes: ``text``, ``list of number``, ``R4 or R5``."""
    if "$ref" in field:
        return str(field["$ref"].rpartition("/")[2])
    if "anyOf" in field:
        return " or ".join(_takes(x) for x in field["anyOf"])
    if "enum" in field or "const" in field:
        return " or ".join(str(x) for x in field.get("enum", [field.get("const")]))
    kind = str(field.get("type", "any"))
    if kind == "array":
        return f"list of {_takes(field.get('items', {}))}"
    return {"string": "text", "null": "nothing", "integer": "whole number"}.get(kind, kind)


def _resolved(schema: Schema, of: Schema) -> Schema:
    if "$ref" in of:
        found: Schema = schema["components"]["schemas"][of["$ref"].rpartition("/")[2]]
        return found
    return of


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
