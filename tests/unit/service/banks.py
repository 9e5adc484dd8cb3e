"""A small bank as a service: its bundle, its people as JSON, and clients."""

import json
from functools import partial
from pathlib import Path

import httpx
import pandas as pd
from anyio.from_thread import start_blocking_portal

from copa.planner.bundle import save_bundle
from copa.service import ServiceSettings, create_app
from copa.service.settings import digest_of
from unit.planner import loans

TOKEN = "a-token-that-nobody-guesses"  # noqa: S105 - of services that the tests start
HOST = "http://localhost"


def write_bundle(path: Path, planner: object, **facts: object) -> Path:
    """A bundle of a planner for the bank."""
    save_bundle(path, planner, loans.people(2, 0), facts)
    return path


def rows_of(table: pd.DataFrame) -> list[dict[str, object]]:
    """Rows as JSON has them."""
    return json.loads(table.to_json(orient="records"))


class Client:
    """Asks an application in this process, from any thread, as if over HTTP."""

    def __init__(self, app, **headers):
        self.app, self.service = app, app.state.service
        self._headers = headers

    def __enter__(self):
        self._portal_context = start_blocking_portal()
        self._portal = self._portal_context.__enter__()
        self._client = self._portal.call(self._open)
        return self

    async def _open(self):
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app), base_url=HOST, headers=self._headers, timeout=60.0
        )

    def __exit__(self, *error):
        self._portal.call(self._client.aclose)
        self._portal_context.__exit__(*error)
        self.service.close()

    def request(self, method, path, **options):
        return self._portal.call(partial(self._client.request, method, path, **options))

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)


def client_of(source: object, **settings: object) -> Client:
    """A client of a service in this process."""
    return Client(create_app(source, ServiceSettings(**settings)))


def with_token(source: object, **settings: object) -> Client:
    """A client of a service that asks for a token, which brings it."""
    made = ServiceSettings(token_digest=digest_of(TOKEN), **settings)
    return Client(create_app(source, made), authorization=f"Bearer {TOKEN}")
