"""The explorer, the page at `/`: its files, and what it shows beyond the answers of the service's other routes.

Everything on the page is drawn by its own scripts from answers of this service. The page and its files hold nothing of
anyone, and need no token; what they ask for does.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.resources import files
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response

from copa import __version__
from copa._core.html import render
from copa._core.threads import stop_if_interrupted
from copa._core.words import hint, shown
from copa.plans.units import heading
from copa.service.answers import encoded
from copa.service.example import example_row
from copa.service.explorer_views import groups_view, validators_view
from copa.service.problems import ProblemError, invalid
from copa.service.routes.resources import Running, answer_of, json_response, service_of

if TYPE_CHECKING:
    from copa.plans import PlanBatch
    from copa.service.state import Service

SHARED = {"cards.js": "report/assets", "style.css": "report/assets", "card.css": "plans/templates"}
LETTER = ("report", "letters", "templates", "page.html.j2")
TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
FOR_EVER = "public, max-age=31536000, immutable"  # another content has another path
MOST_COMPARED = 200  # applicants of a table who are planned for to compare groups
BLOCK = 20  # of them, planned for at a time
SHARE_OF_TIME = 0.5  # of a request, after which no more of them are planned for

router = APIRouter(include_in_schema=False)


@cache
def assets() -> Mapping[str, bytes]:
    """The files of the page by name: its own, and those of the report."""
    package = files("copa")
    own = {entry.name: entry.read_bytes() for entry in package.joinpath("service", "assets").iterdir()}
    shared = {name: package.joinpath(*folder.split("/"), name).read_bytes() for name, folder in SHARED.items()}
    return dict(sorted((own | shared).items()))


@cache
def asset_folder() -> str:
    """The path of the files, which changes with their content, so that a browser keeps them and never an old one."""
    digest = hashlib.sha256()
    for name, content in assets().items():
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return f"explorer/{digest.hexdigest()[:16]}"


def open_paths() -> tuple[str, ...]:
    """Paths that need no token: the page and its files."""
    return ("/", *(f"/{asset_folder()}/{name}" for name in assets()))


@cache
def policy() -> str:
    """What the page may do: run its own scripts, ask its own service, and show a letter in the letter's own style."""
    sheet = files("copa").joinpath(*LETTER).read_text(encoding="utf-8")
    found = re.search(r"<style>(.*?)</style>", sheet, re.DOTALL)
    assert found is not None  # noqa: S101 - a template of the package
    digest = base64.b64encode(hashlib.sha256(found[1].encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{digest}'; connect-src 'self'; "
        "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )


class Explorer:
    """What the page shows of one service; made when it is first asked for, and kept.

    Parameters
    ----------
    service : Service
    """

    def __init__(self, service: "Service") -> None:
        self._service = service

    @cached_property
    def example(self) -> bytes:
        """An applicant to begin with."""
        return encoded({"row": example_row(self._service.bundle)})

    @cached_property
    def validators(self) -> bytes:
        """What a validator asks about the bundle."""
        service, people = self._service, self._service.settings.applicants
        columns = [] if people is None else [str(name) for name in people.columns]
        schema = service.bundle.fitted.schema
        view = validators_view(service.bundle, service.settings.backtest, [("COPA of this service", __version__)])
        view["groups"] = {
            "columns": [{"name": name, "title": heading(schema, name)} for name in columns],
            "n_applicants": min(0 if people is None else len(people), MOST_COMPARED),
        }
        return encoded(view)

    def groups(self, column: str) -> bytes:
        """The applicants of the service's table, compared by a column."""
        people = self._service.settings.applicants
        n = 0 if people is None else len(people)
        return encoded(groups_view(self._compared, column, self._service.bundle.fitted.schema, n))

    @cached_property
    def _compared(self) -> "list[PlanBatch]":
        """Plans for some of the applicants, from all over the table: for as many as there is time for."""
        people: Any = self._service.settings.applicants
        seconds = self._service.settings.time_limit
        some = np.unique(np.linspace(0, len(people) - 1, min(len(people), MOST_COMPARED)).round().astype(int))
        order, end = np.random.default_rng(0).permutation(some), perf_counter() + SHARE_OF_TIME * seconds
        found = []
        for first in range(0, len(order), BLOCK):
            stop_if_interrupted()
            batch = self._service.planner.plan(people.iloc[order[first : first + BLOCK]])
            if (batch.status == "time_limit").any():
                break
            found.append(batch)
            if perf_counter() > end:
                break
        if not found:
            raise ProblemError("timeout", f"no {BLOCK} applicants could be planned for within {seconds:g} s")
        return found


def explorer_of(request: Request) -> Explorer:
    """The explorer of the service that is asked."""
    state = request.app.state
    if not hasattr(state, "explorer"):
        state.explorer = Explorer(service_of(request))
    found: Explorer = state.explorer
    return found


@router.get("/")
async def page(service: Running) -> Response:
    """The page."""
    settings = service.settings
    asked = {"needs_token": settings.token_digest is not None, "has_ledger": settings.ledger is not None}
    content = render("service/templates/explorer.html.j2", assets=asset_folder(), version=__version__, **asked)
    headers = {"content-security-policy": policy(), "cache-control": "no-cache"}
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)


@router.get("/explorer/{digest}/{name}")
async def asset(digest: str, name: str) -> Response:
    """A file of the page."""
    content = assets().get(name)
    if content is None or f"explorer/{digest}" != asset_folder():
        raise ProblemError("not-found", "there is no such file of the explorer; load the page again")
    return Response(content, media_type=TYPES[name.rpartition(".")[2]], headers={"cache-control": FOR_EVER})


@router.get("/explorer/example")
async def example(request: Request, service: Running) -> Response:
    """An applicant to begin with: nobody's row, declined today."""
    known = explorer_of(request)
    return json_response(await answer_of(service.call(lambda: known.example), service.settings.time_limit))


@router.get("/explorer/validators")
async def validators(request: Request, service: Running) -> Response:
    """What a validator asks about the bundle."""
    known = explorer_of(request)
    return json_response(await answer_of(service.call(lambda: known.validators), service.settings.time_limit))


@router.get("/explorer/groups")
async def groups(request: Request, service: Running, column: Annotated[str, Query(max_length=1000)]) -> Response:
    """Applicants compared by a column."""
    people, known = service.settings.applicants, explorer_of(request)
    names = [] if people is None else [str(name) for name in people.columns]
    if column not in names:
        raise invalid("column", column, f"there is no column {shown(column)}; {hint(column, names)}")
    return json_response(await answer_of(service.call(lambda: known.groups(column)), service.settings.time_limit))
