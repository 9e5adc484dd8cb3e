"""`copa serve`: a bundle as a service."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from copa._core.archive import parse_json
from copa._core.progress import show_no_more
from copa.cli.commands import inherited
from copa.cli.files import LEDGER_VARIABLE, open_bundle
from copa.cli.messages import FINE, MisuseError, misuse, say
from copa.cli.options import BundleArgument
from copa.data.tables.files import open_table, read_applicants
from copa.exceptions import DataError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from copa.analysis.backtest_record import Backtest
    from copa.service.settings import ServiceSettings

NEEDED = ("fastapi", "uvicorn")
BODY_OF_AN_APPLICANT = 10_000  # bytes of a request that one may take
WORKERS_VARIABLE = "COPA_SERVE_OPTIONS"  # from the command to its workers


def serve(  # noqa: PLR0913, PLR0917 - the options of the command
    bundle: BundleArgument,
    host: Annotated[
        str, typer.Option(help="Address to listen at; any but this machine's own needs --token-file.", metavar="HOST")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 picks a free one.", metavar="N", min=0, max=65535)] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File of the token that requests must bring; only you may read it.", metavar="FILE"),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Processes, each with the bundle; not on Windows.", metavar="N", min=1)
    ] = 1,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Name by which requests may address this host, such as a proxy's; repeatable. Default: localhost.",
            metavar="NAME",
        ),
    ] = None,
    applicants: Annotated[
        Path | None,
        typer.Option(help="Applicants that may be searched for: .csv or .parquet; needs --id.", metavar="FILE"),
    ] = None,
    label: Annotated[str | None, typer.Option("--id", help="Column of the applicants' names.", metavar="COL")] = None,
    backtest: Annotated[
        Path | None,
        typer.Option(help="JSON of `copa backtest`, for validators to see in the explorer.", metavar="FILE"),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            help=f"Ledger that records options as promises: a URL, or an SQLite file; also ${LEDGER_VARIABLE}.",
            envvar=LEDGER_VARIABLE,
            show_envvar=False,
            metavar="URL",
        ),
    ] = None,
    model_version: Annotated[
        str, typer.Option(help="Name of this model in promises; default: the bundle's digest.", metavar="NAME")
    ] = "",
    max_applicants: Annotated[int, typer.Option(help="Maximum of applicants in a request.", metavar="N", min=1)] = 200,
    max_requests: Annotated[int, typer.Option(help="Maximum of requests at a time.", metavar="N", min=1)] = 256,
    time_limit: Annotated[float, typer.Option(help="Seconds for a request.", metavar="S", min=0.1)] = 10.0,
) -> int:
    """Serve plans, audits, corrections, proofs and letters over HTTP, and a page for people at /.

    /openapi.json describes the routes.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise MisuseError(f"copa serve needs {', '.join(missing)}: pip install 'copa-recourse[serve]'")
    from copa.service.run import Address, make_app
    from copa.service.run import serve as run
    from copa.service.settings import LOCAL, ServiceSettings, is_loopback, read_token, require_token_elsewhere

    if (applicants is None) != (label is None):
        raise MisuseError("--applicants and --id go together: applicants are searched by their names")
    with misuse():
        digest = None if token_file is None else read_token(token_file)
        require_token_elsewhere(host, digest)
    open_bundle(bundle)  # to say what is wrong with it
    given = _Given(
        bundle=str(bundle),
        applicants=None if applicants is None else str(applicants),
        label=label,
        delimiter=inherited("delimiter", ","),
        backtest=None if backtest is None else str(backtest),
        token_digest=None if digest is None else digest.hex(),
        settings={
            "hosts": (*(LOCAL if is_loopback(host) else ()), *(allowed_host or ())),
            "max_body": max(ServiceSettings.max_body, BODY_OF_AN_APPLICANT * max_applicants),
            "max_applicants": max_applicants,
            "max_requests": max_requests,
            "time_limit": time_limit,
            "ledger": ledger,
            "model_version": model_version,
        },
    )
    settings = given.read()
    with misuse():
        if ledger is not None:
            _open_ledger(ledger)
    app: Any = partial(make_app, bundle, settings)
    if workers > 1:
        os.environ[WORKERS_VARIABLE] = json.dumps(asdict(given))
        app = "copa.cli.serve:make_worker_app"
    with misuse(), suppress(KeyboardInterrupt):  # the server has finished what was under way, and passes the signal on
        run(app, settings, Address(host, port), workers=workers, announce=_announce)
    say("stopped.")
    return FINE


@dataclass(frozen=True, kw_only=True)
class _Given:
    """Options of the command, as JSON has them: workers read the same files again."""

    bundle: str
    applicants: str | None
    label: str | None
    delimiter: str
    backtest: str | None
    token_digest: str | None
    settings: dict[str, Any]

    def read(self) -> "ServiceSettings":
        """Read the files that are named, and check the settings."""
        from copa.service.settings import ServiceSettings

        people = None
        if self.applicants is not None:
            template = open_bundle(Path(self.bundle)).template
            with misuse():
                table = open_table(Path(self.applicants), self.delimiter)
            people = read_applicants(table, template, label=self.label)
        with misuse():
            return ServiceSettings(
                token_digest=None if self.token_digest is None else bytes.fromhex(self.token_digest),
                applicants=people,
                backtest=None if self.backtest is None else _read_backtest(Path(self.backtest)),
                **self.settings | {"hosts": tuple(self.settings["hosts"])},
            )


def make_worker_app() -> "FastAPI":
    """Make the application of one of several workers, with the options of the command that started it."""
    from copa.service.run import end_with_parent, make_app

    end_with_parent()
    given = _Given(**json.loads(os.environ[WORKERS_VARIABLE]))
    return make_app(Path(given.bundle), given.read())


def _open_ledger(url: str) -> None:
    """Say at once what is wrong with a ledger; processes of the service open it themselves."""
    from copa.promises import Ledger

    Ledger.open(url).close()


def _announce(url: str) -> None:
    show_no_more()
    say(f"serving at {url}")


def _read_backtest(path: Path) -> "Backtest":
    from copa.analysis.backtest_record import Backtest

    try:
        return Backtest.from_dict(parse_json(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"the backtest {path} cannot be read: {error}") from error
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
