"""Routers, one per resource; a further one is a line in `routers`."""

from typing import TYPE_CHECKING

from copa.service.routes import applicants, audit, backtest, health, letter, model, plan, promises, schema, verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import APIRouter

    from copa.service.settings import ServiceSettings


def routers(settings: "ServiceSettings") -> "Iterator[APIRouter]":
    """Those of every service, and those for what it was given."""
    yield health.router
    yield schema.router
    yield model.router
    yield plan.router
    yield audit.router
    yield verify.router
    yield letter.router
    if settings.applicants is not None:
        yield applicants.router
    if settings.backtest is not None:
        yield backtest.router
    if settings.ledger is not None:
        yield promises.router
