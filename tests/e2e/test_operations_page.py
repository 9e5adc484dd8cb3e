"""The commands of docs/operations.md run, in the order of the page, on a small bank."""

import json
import socket

import pytest

from e2e.command_runs import copa, fit_bank, write_bank
from e2e.page_blocks import blocks_under, run_in_shell
from unit.planner import loans

pytestmark = pytest.mark.extended
PAGE = "docs/operations.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the page names: a bundle, a folder of applicants and a table of them."""
    folder = write_bank(tmp_path_factory.mktemp("bank"))
    fit_bank(folder).rename(folder / "loans.bundle")
    (folder / "people.csv").rename(folder / "applicants.csv")
    (folder / "schema.yaml").rename(folder / "loans.yaml")
    (folder / "applicants").mkdir()
    for part in range(2):
        loans.people(20, part).to_parquet(folder / "applicants" / f"{part}.parquet")
    for quarter in (1, 2):
        table = loans.people(300, quarter)
        paid = ["yes" if paid else "no" for paid in loans.outcomes(table)]
        table.assign(paid=paid).to_csv(folder / f"loans-q{quarter}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def planned(folder):
    """The run that the first command of the page makes, file by file."""
    plan, rest = blocks_under(PAGE, "A million applicants", "console")
    run_in_shell(plan, folder)
    planned = contents(folder / "plans")
    run_in_shell(rest, folder)
    assert contents(folder / "plans") == planned
    return planned


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_applicants_are_planned_for_in_a_run_from_which_all_else_is_made(folder, planned):
    assert json.loads(planned["parts.json"])["applicants"] == 40
    assert list(planned) == ["part-000000.copa", "parts.json", "run.json"]
    for name in ("plans.parquet", "report.html", "letters/index.csv", "promises.db"):
        assert (folder / name).exists()


@pytest.mark.slow
def test_the_commands_for_dask_make_the_same_bytes(folder, planned):
    (cluster,) = blocks_under(PAGE, "With Dask", "console")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    assert cluster.count("8786") == 3
    run_in_shell(cluster.replace("8786", port), folder)
    assert contents(folder / "nightly") == planned


@pytest.mark.slow
def test_a_bundle_is_upgraded_and_taken_back(folder):
    first, upgrade, rollback = blocks_under(PAGE, "Upgrade and rollback of bundles", "console")
    current = folder / "current.bundle"
    run_in_shell(first, folder)
    assert current.read_bytes() == (folder / "loans-q1.bundle").read_bytes()
    run_in_shell(upgrade, folder)
    assert current.read_bytes() == (folder / "loans-q2.bundle").read_bytes()
    totals = json.loads((folder / "audit-q2.json").read_text())["totals"]
    assert 0 < totals["accepted"] <= totals["n_options"]
    assert "every bound holds" in run_in_shell(rollback, folder)
    assert current.read_bytes() == (folder / "loans-q1.bundle").read_bytes()
    refused = copa("verify", folder / "proofs-q1.zip", "--bundle", folder / "loans-q2.bundle", code=1)
    assert "another one than that of the bundle" in refused.stdout + refused.stderr
