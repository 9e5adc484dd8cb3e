"""A planner as a service: REST with an OpenAPI description."""

import typing

from copa.service.settings import ServiceSettings

if typing.TYPE_CHECKING:
    from pathlib import Path

    from fastapi import FastAPI

    from copa.planner import RecoursePlanner
    from copa.planner.bundle import Bundle

__all__ = ["ServiceSettings", "create_app"]


def create_app(source: "Bundle | RecoursePlanner | str | Path", settings: ServiceSettings | None = None) -> "FastAPI":
    """Make the application that `copa serve` runs, for a server of your own or for tests.

    Requires `pip install 'copa-recourse[serve]'`.

    Parameters
    ----------
    source : Bundle, RecoursePlanner, str or Path
        What answers come from: a bundle, its file, or a fitted planner.
    settings : ServiceSettings, optional
        Limits and the token. None is for a service on this machine only: no token, and no other host than localhost.

    Returns
    -------
    FastAPI
        An ASGI application.

    Examples
    --------
    >>> import asyncio
    >>> import httpx
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> from copa.service import create_app
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.normal(size=(400, 2)).round(1), columns=["income", "savings"])
    >>> y = X["income"] + X["savings"] + 0.5 * rng.normal(size=400) > 0
    >>> later = copa.LaterModels(n_refits=20)
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(X, y), guarantee=0.8, later_models=later).fit(X, y)
    >>> app = create_app(planner)
    >>> async def ask(asked):
    ...     transport = httpx.ASGITransport(app)
    ...     async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
    ...         return (await client.post("/v1/plan", json=asked)).json()
    >>> asked = {"applicants": [{"income": -0.6, "savings": 0.1}], "fixed": ["income"]}
    >>> plan = asyncio.run(ask(asked))["plans"][0]
    >>> plan["status"], plan["options"][0]["changes"][0]["column"]
    ('ok', 'savings')
    """
    from copa.service.app import build_app

    return build_app(source, settings)
