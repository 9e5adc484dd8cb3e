"""`copa demo`: ten declined loan applicants, from data to report."""

from pathlib import Path
from typing import Annotated, Any

import typer

from copa._core.progress import stage
from copa._core.words import counted, rounded_down
from copa.cli.commands import inherited, wants_json
from copa.cli.letter import say_left_out, say_protected
from copa.cli.messages import show, show_json, show_table
from copa.data.tables.cells import as_text
from copa.plans.writers import plans_into

N_APPLICANTS = 10


def demo(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Folder for report, plans and letters.", metavar="DIR"),
    ] = Path("copa-demo"),
) -> None:
    """Plan for ten declined applicants of German Credit, which comes with the package."""
    from copa.report import write_report
    from copa.report.letters import LetterWriter
    from copa.report.letters.folder import LetterFolder

    output.mkdir(parents=True, exist_ok=True)
    planner, declined = _prepare()
    batch = planner.plan(declined)
    written = [output / name for name in ("report.html", "plans.csv", "plans.copa")]
    with stage("writing the report"):
        write_report(batch, written[0], planner=planner, title="Ten declined loan applicants")
    for path in written[1:]:
        with plans_into(path) as writer:
            writer.add(batch)
    letters = LetterFolder(output / "letters", LetterWriter(planner.strategy_))
    with letters.opened():
        letters.add(batch)
    say_protected(letters)
    say_left_out(letters)
    written.append(letters.folder)
    if wants_json():
        show_json({"applicants": batch.summary().to_dict("records"), "written": [str(path) for path in written]})
        return
    show(batch[0].explain())
    show("\nAll ten; probabilities are lower bounds, proven under this assumption:\n")
    rows = []
    for plan in batch:
        numbers = [plan.option_lower.min(), plan.any_lower, plan.lower] if plan.n_options else []
        shown = [rounded_down(number) for number in numbers] or ["", "", ""]
        rows.append([as_text(plan.label), plan.status, plan.n_options, *shown])
    show_table(["applicant", "status", "options", "each at least", "any at least", "all at least"], rows)
    show(f"\n{counted(len(written) - 1, 'file')}: {', '.join(str(path) for path in written[:-1])}")
    show(f"{counted(letters.counts['letters'], 'letter')} to the applicants: {letters.folder}")
    show(f"Check the bounds with: copa verify {written[2]}")


def _prepare() -> tuple[Any, Any]:
    """Return a planner for a model of German Credit, and the first applicants that the model declines."""
    from copa.data.datasets import example_model, load_german
    from copa.planner import RecoursePlanner

    data = load_german()
    table, model = data.features, example_model(data)
    planner = RecoursePlanner(model, data.schema, guarantee=0.8, n_jobs=inherited("n_jobs"))
    return planner.fit(table, data.favourable), table[~model.predict(table)].head(N_APPLICANTS)
