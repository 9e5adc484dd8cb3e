"""`GET /v1/backtest`: whether promises of the past were kept, if the service was given a backtest."""

from typing import Any

from fastapi import Response

from copa.service.answers import encoded
from copa.service.routes.resources import Running, json_response, new_router

router = new_router("backtest")


@router.get("/backtest", response_model=dict[str, Any])
async def backtest(service: Running) -> Response:
    """Whether promises of the past were kept: the record that `copa backtest --json` prints."""
    found = service.settings.backtest
    assert found is not None  # noqa: S101 - the route is there only where it is
    return json_response(encoded(found.to_dict()))
