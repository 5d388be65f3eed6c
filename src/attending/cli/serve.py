"""``attending serve``: a model behind an HTTP API, with an inbox for people."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attending.cli import options
from attending.cli.console import Screen
from attending.errors import MissingExtra, ServeError

if TYPE_CHECKING:
    from attending.serve.settings import Settings

_WHO, _LIMITS, _RECORDS = "Who may ask", "Limits", "Records"


def serve(
    model: options.Model,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on.")
    ] = 8000,
    socket: Annotated[
        Path | None,
        typer.Option(
            "--socket", metavar="FILE", help="Listen on a Unix socket instead.", show_default=False
        ),
    ] = None,
    data: Annotated[
        Path,
        typer.Option(
            "--data", metavar="DIR", help="Folder of the inbox and the audit; made if need be."
        ),
    ] = Path("attending-data"),
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            metavar="URL",
            envvar="ATTENDING_DATABASE",
            help="Database of the inbox, such as postgresql://host/name; a file in the folder if "
            "left out.",
            show_default=False,
        ),
    ] = None,
    inbox: Annotated[
        bool,
        typer.Option(
            "--inbox/--no-inbox",
            help="Pages for people who read and correct. Without them no text is ever stored.",
        ),
    ] = True,
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="What the pages call the service.")
    ] = "Attending",
    keys: Annotated[
        Path | None,
        typer.Option(
            "--keys",
            metavar="FILE",
            help="Keys that let someone in; [bold]attending keys add NAME[/] makes them.",
            rich_help_panel=_WHO,
            show_default=False,
        ),
    ] = None,
    user_header: Annotated[
        str | None,
        typer.Option(
            "--user-header",
            metavar="NAME",
            help="Header in which your proxy names the user who logged in to it.",
            rich_help_panel=_WHO,
            show_default=False,
        ),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--proxy",
            metavar="ADDRESS",
            help="Where that proxy asks from; this machine if left out. May be given several "
            "times.",
            rich_help_panel=_WHO,
            show_default=False,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="Host name that the service answers to. May be given several times.",
            rich_help_panel=_WHO,
            show_default=False,
        ),
    ] = None,
    priorities: Annotated[
        Path | None,
        typer.Option(
            "--priorities",
            metavar="FILE",
            help="Map from labels to FHIR priorities; the bundled one fits the bundled labels.",
            rich_help_panel=_RECORDS,
            show_default=False,
        ),
    ] = None,
    codes: Annotated[
        str | None,
        typer.Option(
            "--codes",
            metavar="SYSTEM",
            help="Labels are codes of this system: icd10cm, icd9, icdo3, or a URL.",
            rich_help_panel=_RECORDS,
            show_default=False,
        ),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            "--zone",
            metavar="NAME",
            help="Zone of FHIR times that name none, such as Europe/Berlin.",
            rich_help_panel=_RECORDS,
            show_default=False,
        ),
    ] = None,
    retention: Annotated[
        int | None,
        typer.Option(
            "--retention",
            metavar="DAYS",
            min=1,
            help="Delete messages after so many days; never if left out.",
            rich_help_panel=_RECORDS,
            show_default=False,
        ),
    ] = None,
    batch: Annotated[
        int,
        typer.Option(
            "--batch", metavar="N", min=1, help="Texts read at once.", rich_help_panel=_LIMITS
        ),
    ] = 32,
    queue: Annotated[
        int,
        typer.Option(
            "--queue",
            metavar="N",
            min=1,
            help="Texts that may wait; more are refused with 503.",
            rich_help_panel=_LIMITS,
        ),
    ] = 256,
    most: Annotated[
        int,
        typer.Option(
            "--texts", metavar="N", min=1, help="Texts of one request.", rich_help_panel=_LIMITS
        ),
    ] = 64,
    body: Annotated[
        float,
        typer.Option(
            "--body",
            metavar="MIB",
            min=0.01,
            help="Largest body of a request.",
            rich_help_panel=_LIMITS,
        ),
    ] = 1,
    upload: Annotated[
        float,
        typer.Option(
            "--upload",
            metavar="MIB",
            min=0.01,
            help="Largest upload, and largest body of FHIR.",
            rich_help_panel=_LIMITS,
        ),
    ] = 32,
    quiet: Annotated[bool, typer.Option("--quiet", help="Log no line for each request.")] = False,
) -> None:
    """Serve a model, also an exported one: an HTTP API, and an inbox for people.

    Listens on this machine only; to listen elsewhere it needs keys, or a proxy that names its
    users. Texts are never logged. Who scored, read and corrected what is kept in DIR/audit.jsonl,
    by ids. Stop it with Ctrl-C or SIGTERM: open requests are answered first.
    """
    require_extra()
    from attending.serve.settings import MIB

    settings = settings_of(
        title=title,
        host=host,
        port=port,
        socket=socket,
        data=data,
        database=database,
        inbox=inbox,
        keys=keys,
        user_header=user_header,
        proxies=tuple(proxy or ("127.0.0.1", "::1")),
        hosts=tuple(h.lower() for h in allow_host or ()),
        priorities=priorities,
        codes=codes,
        zone=zone,
        retention_days=retention,
        batch=batch,
        queue=queue,
        texts=most,
        body_bytes=int(body * MIB),
        upload_bytes=int(upload * MIB),
    )
    settings.require_safe()
    _require_keys(settings)
    _serve(Path(model), settings, Screen(), requests=not quiet)


def settings_of(**values: Any) -> "Settings":
    """Return settings.

    Raises:
        ServeError: If one can't be; names it.
    """
    from pydantic import ValidationError

    from attending.serve.settings import Settings

    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "the settings"
        said = first["msg"].removeprefix("Value error, ")
        raise ServeError(f"{name.replace('_', '-')}: {said}") from None


def require_extra() -> None:
    """Make sure that what serving needs is installed.

    Raises:
        MissingExtra: If it isn't.
    """
    from importlib.util import find_spec

    for package in ("fastapi", "uvicorn", "prometheus_client", "sqlalchemy", "alembic"):
        if find_spec(package) is None:
            raise MissingExtra(package, "serve", "Serving a model")


def _require_keys(settings: "Settings") -> None:
    """Refuse a file without keys: nobody could come in."""
    from attending.serve.keys import Keys

    if settings.keys is not None and not Keys(settings.keys).all() and not settings.user_header:
        raise ServeError(
            "there are no keys, so nobody could come in",
            where=str(settings.keys),
            step=f"Make one: attending keys add NAME --keys {settings.keys}",
        )


def _serve(model: Path, settings: "Settings", screen: Screen, requests: bool) -> None:
    from attending.serve.app import create_app
    from attending.serve.predictor import Predictor
    from attending.serve.running import log_to_stderr, opened_audit, run

    def ready() -> None:
        screen.say(_greeting(settings))

    log_to_stderr(requests)
    with ExitStack() as stack:
        audit = stack.enter_context(opened_audit(settings))
        store = stack.enter_context(_store(settings, audit))
        predictor = Predictor(
            model,
            batch=settings.batch,
            wait_ms=settings.wait_ms,
            queue=settings.queue,
            longest=settings.text_chars,
            seconds=settings.answer_seconds,
        )
        run(create_app(predictor, settings, store, audit), predictor, settings, ready)


@contextmanager
def _store(settings: "Settings", audit: Any) -> Iterator[Any]:
    if not settings.inbox:
        yield None
        return
    from attending.serve.store import Store

    store = Store(settings.database_url, audit)
    try:
        yield store
    finally:
        store.close()


def _greeting(settings: "Settings") -> str:
    if settings.socket is not None:
        return f"ready on {settings.socket}; Ctrl-C stops"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    at = f"http://{host}:{settings.port}"
    pages = f"inbox {at}/inbox, API {at}/v1/docs" if settings.inbox else f"API {at}/v1/docs"
    return f"ready: {pages}; Ctrl-C stops"
