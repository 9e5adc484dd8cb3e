"""The explorer of a small bank with odd names: its service, what its page shows, and what it must show."""

import socket
import threading
from contextlib import contextmanager

import httpx
import numpy as np
import uvicorn
from sklearn.base import clone

import copa
from copa import Wishes
from copa._core.words import rounded_down, rounded_up
from copa.planner.bundle import Bundle
from copa.plans import Change
from copa.plans.units import heading, value_text
from copa.service import ServiceSettings, create_app
from copa.service.settings import digest_of
from e2e.browser_pages import find
from unit.analysis import backtests
from unit.planner import loans
from waiting import PATIENCE, wait_until

TOKEN = "a-token-that-nobody-guesses"  # noqa: S105 - of a service that the tests start
EVIL = "<img src=x onerror=alert(1)>"
ODD = [EVIL, "</script><script>alert(2)</script>", "a/b?c#d%20e", "Jürgen 'J' \"M\"", "名前 \u202e"]
NAMES = [*ODD, *(f"person {k}" for k in range(35))]
PERSON = "person 16"  # whose plan each of the wishes below changes


def odd_bank():
    """A planner whose columns and levels have names that look like markup, and with older versions of its model."""
    model = loans.fitted_pipeline()
    older = []
    for year in range(3):
        table = loans.people(300, 20 + year)
        shifted = table.assign(income=table["income"] + 6.0 * (3 - year))
        older.append(clone(model).fit(table, loans.outcomes(shifted, seed=year)))
    schema = loans.SCHEMA.replace(
        {
            "debt": {"title": f"{EVIL} debt (<b>DM</b>)"},
            "job": {"labels": {"clerk": f"clerk{EVIL}", "nurse": "<i>nurse</i> & co"}},
        }
    )
    return loans.planner(model, schema=schema, later_models=copa.LaterModels(history=older, horizon=1))


@contextmanager
def served(planner, **settings):
    """The address of a running service."""
    bundle = Bundle(planner, planner.template_, {"rows": 300}, {"copa": "1 <b>"}, "0" * 64)
    app = create_app(bundle, ServiceSettings(**settings))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, ws="none", lifespan="on"))
    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


def bank_settings(planner):
    """A token, forty people who have odd names, the first of them declined, and a backtest."""
    table = loans.people(150, 7)
    accepted = np.flatnonzero(planner.model.predict(table))[:5]
    declined = np.flatnonzero(~planner.model.predict(table))[: len(NAMES) - len(accepted)]
    people = table.iloc[[*declined, *accepted]].set_axis(NAMES)
    return {"token_digest": digest_of(TOKEN), "applicants": people, "backtest": backtests.broken()}


class Asker:
    """Asks the service of a page what the page asks."""

    def __init__(self, url, planner):
        self._planner = planner
        self._client = httpx.Client(base_url=url, headers={"authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._client.close()

    def get(self, path, **params):
        answer = self._client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path, body):
        answer = self._client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def expected(self, body):
        """What the page must show of the service's answer to wishes, from the numbers of its options."""
        answer = self.post("v1/plan", body)
        (entry,) = answer["plans"]
        wishes = Wishes(**{name: value for name, value in body.items() if name not in ("applicants", "cards")})
        schema = self._planner.with_wishes(wishes).schema_  # a limit of a column is the end of a range too
        cards = [_card(schema, option) for option in entry["options"]]
        return {"cards": cards, "whole": _whole(entry), "assumption": answer["assumptions"]["in_words"]}


def _card(schema, option):
    least = rounded_down(option["guarantee"])
    lines = [["guarantee", f"at least {least}" if float(least) else "none"]]
    lines += [["expected rate", rounded_down(option["expected"])]] if option["expected"] is not None else []
    return {
        "head": [f"Option {option['option']}", f"effort {option['effort']:.2f}"],
        "lines": lines,
        "width": f"{100 * float(least):.1f}".removesuffix(".0") + "%",
        "changes": [_change(schema, change) for change in option["changes"]],
    }


def _change(schema, change):
    name, before, least = change["column"], change["from"], change["at_least"]
    interval = None if least is None else (float(least), float(change["at_most"]))
    words = Change(name, before, change["to"], interval=interval).range_text
    values = [value_text(schema, name, before), value_text(schema, name, change["to"])]
    return [heading(schema, name), " → ".join(values), *([words] if words else [])]


def _whole(entry):
    if len(entry["options"]) < 2:
        return []
    lines = [
        [words, f"at least {rounded_down(entry[key])}"]
        for words, key in (("at least one option holds", "any"), ("all options hold", "all"))
        if entry[key] >= 0.001
    ]
    return lines + ([["all options hold", f"at most {rounded_up(entry['upper'])}"]] if entry["upper"] <= 0.999 else [])


# What the page shows of the plan, as a person reads it.
SHOWN = """
    const text = (it) => it.textContent;
    const all = (root, selector) => Array.from(root.querySelectorAll(selector));
    const change = (li) => {
      const isWish = (it) => it.classList && it.classList.contains("wish");
      const [title, ...rest] = Array.from(li.childNodes).filter((it) => !isWish(it));
      return [text(title), text(rest[0]) + text(rest[1]), ...rest.slice(2).map(text)];
    };
    const plan = document.getElementById("plan");
    return {
      cards: all(plan, ".copa-card").map((card) => ({
        head: all(card, ".copa-head > *").map(text),
        lines: all(card, ".copa-line").map((line) => all(line, "*").map(text)),
        width: card.querySelector(".copa-fill").style.width,
        changes: all(card, ".copa-changes > li").map(change),
      })),
      whole: all(plan, ".copa-whole .copa-line").map((line) => all(line, "*").map(text)),
      assumption: text(document.getElementById("assumption")),
    };
"""

# Requests of the page for plans, as they were answered and drawn.
WATCH = """
    window.bodies = [];
    window.plainFetch = window.plainFetch || window.fetch;
    window.fetch = (path, options) => {
      if (path === "v1/plan") { window.bodies.push(JSON.parse(options.body)); }
      return window.plainFetch(path, options);
    };
"""


def until(browser, condition):
    """Wait until a condition of the page holds."""
    wait_until(lambda: browser.execute_script(f"return Boolean({condition})"), lambda: condition)


def settled(browser, act):
    """Do something that asks for a plan, and wait until it is there; return what was asked for."""
    browser.execute_script(WATCH)
    browser.execute_script("window.was = document.getElementById('plan').firstChild")
    act()
    until(browser, "window.bodies.length && window.was !== document.getElementById('plan').firstChild")
    until(browser, "document.getElementById('spinner').hidden")
    body = browser.execute_script("return window.bodies.at(-1)")
    assert body.pop("cards") is True
    return body


def click(browser, selector, place=0):
    """Click on an element, wherever it is."""
    browser.execute_script("arguments[0].click()", find(browser, selector)[place])


def give_token(browser, token=TOKEN):
    """Give the token in the dialog that asks for it."""
    until(browser, "document.getElementById('token-dialog').open")
    browser.switch_to.active_element.send_keys(token, "\n")
    if token == TOKEN:
        until(browser, "document.querySelector('.copa-card')")
