"""Writes the golden files of a release: `PYTHONPATH=src:tests python tests/golden/make_golden.py` with its sources.

Files of a release are written once, by the code of that release, and never again: every later one must read them.
`make_golden.py replanned` keeps what a later release plans from them where it says that it plans otherwise.
"""

import json
import sys
from dataclasses import replace

import numpy as np
import sklearn
from typer.testing import CliRunner

import copa
from copa.cli.app import app
from copa.models.storage import pack_estimator
from copa.planner.bundle import load_bundle
from copa.plans.storage import read_parts
from golden import golden_planners as golden
from unit.planner import loans

RELEASE = "0.3.0"
N_APPLICANTS = 4
FIT = ("--n-models", 30, "--n-starts", 4, "--n-options", 2, "--guarantee", 0.8, "--random-state", 0, "--n-jobs", 1)
FIT_FOREST = ("--n-models", 4, *FIT[2:])


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exit_code != 0:
        raise SystemExit(f"copa {arguments}: {result.output}")


def write_models():
    for name in sorted({golden.MODELS.get(name, name) for name in golden.SETTINGS}):
        model = golden.unfitted(name).fit(*golden.training_data())
        if name in golden.STORED_BY_SKOPS:
            (golden.FOLDER / f"{name}.skops").write_bytes(pack_estimator(model))
        else:
            parameters = {"coef": model[-1].coef_.tolist(), "intercept": model[-1].intercept_.tolist()}
            (golden.FOLDER / f"{name}_parameters.json").write_text(json.dumps(parameters))


def write_planners():
    for name, settings in golden.SETTINGS.items():
        model = golden.stored_model(name)
        planner = copa.RecoursePlanner(model, schema=golden.SCHEMA, **settings).fit(*golden.training_data())
        people = loans.people(200, 7)
        declined = people[~model.predict(people)].iloc[:N_APPLICANTS]
        planner.save(golden.FOLDER / f"{name}.planner")
        batch = planner.plan(declined)
        batch.save(golden.FOLDER / f"{name}.plans")
        (golden.FOLDER / f"{name}_plans.json").write_text(batch.to_json(certificates=True))


def write_commands():
    folder = golden.FOLDER
    golden.SCHEMA.save(folder / "schema.yaml")
    golden.SCHEMA.save(folder / "schema.json")
    people = loans.people(60, 7).reset_index(names="name")
    people[~golden.stored_model("linear").predict(people)].iloc[:N_APPLICANTS].to_csv(
        folder / "applicants.csv", index=False
    )
    fit = ("fit", folder / "bank.csv", "--target", golden.LABEL, "--schema", folder / "schema.yaml")
    for name, more in (("linear", FIT), ("forest", ("--model", folder / "forest.skops", *FIT_FOREST))):
        bundle = folder / f"{name}.bundle"
        run(*fit, "-o", bundle, *more)
        outputs = ("-o", folder / f"{name}_command.csv", "--certificates", folder / f"{name}_command.copa")
        run("plan", bundle, folder / "applicants.csv", "--id", "name", *outputs)


def write_replanned(names, bundles):
    """Plans that the planners of the release's files make now; `seconds` would differ from run to run."""
    golden.REPLANNED.mkdir(exist_ok=True)
    for name in names:
        planner = copa.RecoursePlanner.load(golden.FOLDER / f"{name}.planner", golden.stored_model(name))
        people = copa.PlanBatch.load(golden.FOLDER / f"{name}.plans")[:2].applicants
        _timeless(planner.plan(people)).save(golden.REPLANNED / f"{name}.plans")
    for name in bundles:
        (old,) = read_parts(copa.PlanBatch, golden.FOLDER / f"{name}_command.copa")
        planner = load_bundle(golden.FOLDER / f"{name}.bundle").planner
        _timeless(planner.plan(old.applicants)).save(golden.REPLANNED / f"{name}_command.plans")


def _timeless(batch):
    return replace(batch, seconds=np.zeros(len(batch)))


if __name__ == "__main__":
    if sys.argv[1:] == ["replanned"]:
        write_replanned(list(golden.SETTINGS), ["linear", "forest"])
        raise SystemExit
    if copa.__version__ != RELEASE:
        raise SystemExit(f"these files are written by COPA {RELEASE}, this is {copa.__version__}")
    golden.FOLDER.mkdir()
    table = loans.people(300, 0)
    table.assign(**{golden.LABEL: loans.outcomes(table)}).to_csv(golden.FOLDER / "bank.csv", index=False)
    versions = {"copa": copa.__version__, "scikit-learn": sklearn.__version__}
    (golden.FOLDER / golden.MADE_WITH).write_text(json.dumps(versions))
    write_models()
    write_planners()
    write_commands()
