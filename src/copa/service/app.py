"""The application, put together: routers, one per resource, behind what guards them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from copa import __version__
from copa.service import explorer, guard
from copa.service.description import describe
from copa.service.problems import ProblemError, from_status, from_validation
from copa.service.routes import routers
from copa.service.settings import ServiceSettings
from copa.service.state import Service

if TYPE_CHECKING:
    from pathlib import Path

    from copa.planner import RecoursePlanner
    from copa.planner.bundle import Bundle

ABOUT = (
    "Plans for declined applicants, each option with a lower bound on the probability that the next model accepts it, "
    "proven under a stated assumption about that model."
)


def build_app(source: "Bundle | RecoursePlanner | str | Path", settings: ServiceSettings | None = None) -> FastAPI:
    """See `copa.service.create_app`."""
    service = Service.of(source, settings)

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="COPA",
        version=__version__,
        description=ABOUT,
        lifespan=running,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    for router in (*routers(service.settings), explorer.router):
        app.include_router(router)
    app.add_exception_handler(HTTPException, _answer_problem)
    app.add_exception_handler(RequestValidationError, _answer_validation)
    open_paths = (*guard.OPEN, *explorer.open_paths())
    app.add_middleware(guard.Guard, settings=service.settings, open_paths=open_paths)
    app.add_middleware(guard.AccessLog)
    app.openapi = lambda: describe(app, service)  # type: ignore[method-assign]  # FastAPI's own way
    return app


async def _answer_problem(_: Request, error: Any) -> Response:
    return (error if isinstance(error, ProblemError) else from_status(error)).response()


async def _answer_validation(_: Request, error: Any) -> Response:
    return from_validation(error).response()
