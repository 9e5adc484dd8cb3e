"""What agrees with the paper, what does not, and why: sections made from computed verdicts."""

from collections import Counter
from typing import TYPE_CHECKING

from reproduction.data.shifted import TITLES
from reproduction.experiments.causes import VARIANTS
from reproduction.experiments.published import MEASURES, TABLE_1, Agreement, Printed, agreements, orderings, within
from reproduction.experiments.table1 import summary
from reproduction.experiments.training import EARLY, N_STARTS
from reproduction.pages.page import Grid, Picture, Section, number, share, spread
from reproduction.pages.tables import NAMES

if TYPE_CHECKING:
    import pandas as pd

ASKED = "own_seed_1500"
TEXTS = {variant.key: variant.text for variant in VARIANTS}


def orderings_section(table: "pd.DataFrame") -> Section:
    """Whether the methods are ordered as in the paper."""
    found = orderings(summary(table))
    if not found:
        return Section("Orderings of Table 1", ["They cannot be compared without the rows of DiCE."])
    wrong = [o for o in found if not o.holds]
    text = (
        "MahalanobisCrr above DiCE and COPA above both, in L* and in empirical validity (1.000 against 1.000 counts "
        f"as above): {len(found) - len(wrong)} of {len(found)} comparisons hold."
    )
    if not wrong:
        return Section("Orderings of Table 1", [text])
    rows = [
        [TITLES[o.data], NAMES[o.measure], o.higher, number(o.values[0]), o.lower, number(o.values[1])] for o in wrong
    ]
    header = ["data", "measure", "should be above", "its value", "the other", "its value"]
    return Section("Orderings of Table 1", [text, "These do not:", Grid(header, rows)])


def broken_orderings_section(table: "pd.DataFrame", causes: "pd.DataFrame") -> Section:
    """The orderings that do not hold, and the experiments in which they do."""
    wrong = [o for o in orderings(summary(table)) if not o.holds]
    rows = []
    for ordering in wrong:
        texts = []
        for key, text in TEXTS.items():
            part = causes[(causes["variant"] == key) & (causes["data"] == ordering.data)]
            same = [o for o in orderings(part) if o.question == ordering.question]
            texts += [f"{text} ({o.values[0]:.3f} above {o.values[1]:.3f})" for o in same if o.holds]
        rows.append(
            [
                TITLES[ordering.data],
                NAMES[ordering.measure],
                f"{ordering.higher} above {ordering.lower}",
                f"{ordering.values[0]:.3f}, {ordering.values[1]:.3f}",
                "; ".join(texts) or "none",
            ]
        )
    if not rows:
        return Section("Orderings that do not hold", ["All that can be compared hold."])
    header = ["data", "measure", "ordering", "ours", "experiments in which it holds"]
    return Section("Orderings that do not hold", [Grid(header, rows)])


def agreement_section(table: "pd.DataFrame", causes: "pd.DataFrame | None") -> Section:
    """Cells of Table 1 that differ from the printed ones, with the experiment that comes nearest."""
    cells = agreements(summary(table), causes)
    apart = [cell for cell in cells if not cell.agrees]
    explained = [cell for cell in apart if cell.explained]
    text = (
        f"Of {len(cells)} cells of Table 1, the printed mean lies within two printed standard deviations of ours in "
        f"{len(cells) - len(apart)}. Of the other {len(apart)}, an experiment below brings {len(explained)} within "
        f"them, and {sum(bool(cell.variant) for cell in apart) - len(explained)} nearer. (Some printed deviations are "
        f"0.000: there the third digit decides.){_best_alone(causes)}"
    )
    header = ["data", "method", "measure", "ours", "printed", "nearest experiment", "there", "within two deviations"]
    return Section("Where Table 1 differs, and why", [text, Grid(header, [_cell(cell) for cell in apart])])


def _best_alone(causes: "pd.DataFrame | None") -> str:
    """Which experiment alone comes nearest to the whole table."""
    if causes is None or causes.empty:
        return ""
    found = {key: agreements(part) for key, part in causes.groupby("variant", sort=False)}
    hits = {key: sum(cell.agrees for cell in cells) for key, cells in found.items()}
    best = max(hits, key=lambda key: hits[key])
    return f" The best alone brings {hits[best]} of its {len(found[best])} cells within them: {TEXTS[best]}."


def training_section(training: "pd.DataFrame") -> Section:
    """How stopping early changes the models."""
    rows = [
        [
            TITLES[row["data"]],
            row["training"],
            number(row["from_mean"], 2),
            number(row["accuracy"], 2),
            str(row["declined"]),
            number(row["one_hot_variance"], 4),
            number(row["start_variance"], 4),
            number(row["distance"], 2),
        ]
        for row in training.to_dict("records")
    ]
    text = (
        "The authors' program trains the deployed classifier for up to 2000 steps and the refits for up to 200, so "
        "that the mean of the refits is not the model; and from random weights, so that along directions that no row "
        "can see (the intercept against all values of a category) the covariance of the refits is that of the random "
        "start."
    )
    header = [
        "data",
        "training",
        "deployed model from the mean of the refits",
        "its accuracy on D1",
        "rows that it declines",
        "variance in unseen directions",
        "of a random start",
        "distance D1 to D2",
    ]
    return Section("Training, stopped and to convergence", [text, Grid(header, rows), *_early_stops(training)])


def _early_stops(training: "pd.DataFrame") -> list[str | Grid]:
    """How often training ends at once, and on which data the program's own seed is such a case."""
    facts = training.drop_duplicates("data").to_dict("records")
    rows = [
        [
            TITLES[row["data"]],
            share(row["early_ours"]),
            share(row["early_both"]),
            f"{row['own_steps']:.0f}",
            number(row["own_accuracy"], 2),
            f"{row['own_declined']:.0f} of {row['rows']:.0f}",
        ]
        for row in facts
    ]
    told = [
        f"On {TITLES[row['data']]} the program's own seed is one of them: its deployed classifier stops after "
        f"{row['own_steps']:.0f} steps, untrained (accuracy {row['own_accuracy']:.2f}), and declines "
        f"{row['own_declined']:.0f} of {row['rows']:.0f} people, who are its applicants. DiCE's plans are made for "
        "this classifier, and judged by refits that are trained."
        for row in facts
        if row["own_steps"] <= EARLY
    ]
    text = (
        "The program scales numbers by their ranges in D1 and D2 together. Then the first steps can be too long: the "
        f"loss rises five times in a row, and training ends. How many of {N_STARTS} random starts end within {EARLY} "
        "steps, and the deployed classifier of the program's own seed (in double precision):"
    )
    header = [
        "data",
        "starts that end early, ranges of D1",
        "ranges of D1 and D2",
        "steps of the program's own seed",
        "its accuracy on D1",
        "people whom it declines",
    ]
    return [text, Grid(header, rows), *told]


def causes_section(causes: "pd.DataFrame", table: "pd.DataFrame") -> Section:
    """All experiments: how many cells each brings to the printed ones, and the rows of COPA."""
    ours = summary(table).assign(variant="ours")
    texts = {"ours": "ours: refits to convergence, their covariance, the minimiser within the ranges", **TEXTS}
    counted, rows = [], []
    for key, text in texts.items():
        part = ours if key == "ours" else causes[causes["variant"] == key]
        if part.empty:
            continue
        hits: Counter[str] = Counter()
        for row in part.to_dict("records"):
            printed = TABLE_1[row["data"]][row["method"]]
            hits[row["data"]] += sum(within(row[m], printed[m].mean, printed[m].sd) for m in MEASURES)
            if row["method"].startswith("COPA"):
                values = [spread(row[m], row[f"{m}_sd"]) for m in MEASURES]
                rows.append([TITLES[row["data"]], row["method"], text, *values, number(row["distance"])])
        sizes = part.groupby("data").size() * len(MEASURES)
        none = {data: "declines nobody" if data in set(ours["data"]) else "-" for data in TABLE_1}
        counted.append([text, *(f"{hits[data]} of {sizes[data]}" if data in sizes else none[data] for data in TABLE_1)])
    rows.sort(key=lambda row: (row[0], row[1]))
    for data, methods in TABLE_1.items():
        for method, printed in methods.items():
            if method.startswith("COPA"):
                values = [spread(printed[m].mean, printed[m].sd) for m in MEASURES]
                rows.append([TITLES[data], method, "printed", *values, "-"])
    rows.sort(key=lambda row: (row[0], row[1]))
    text = (
        "The table again with one or more things changed, as the authors' published program has it: it multiplies the "
        "covariance by 1.5, ends the refits after 200 gradient steps from random weights, and ends the descent of COPA "
        "after three steps without improvement, at the last point. With its own seed it has another deployed "
        "classifier (see below), starts COPA with the same noise for every applicant, and has the numbers of SBA and "
        "Student in two orders: DiCE weighs the change of a number by the deviation of another one, and proximity is "
        "measured from an applicant whose numbers are in each other's places. It asks its refits for 1500 steps, but "
        "its training does not take that number, and does 200. Cells within two printed deviations, of those run:"
    )
    header = ["experiment", *(TITLES[data] for data in TABLE_1)]
    wide = ["data", "method", "experiment", *NAMES.values(), "distance D1 to D2"]
    body: list[str | Grid | Picture] = [text, Grid(header, counted), *_asked_steps(causes, ours)]
    return Section("Experiments on the causes", [*body, "The rows of COPA in each:", Grid(wide, rows)])


def _asked_steps(causes: "pd.DataFrame", ours: "pd.DataFrame") -> list[str | Grid]:
    """DiCE and its correction with refits of as many steps as the program asks for, beside the printed and ours."""
    there = causes[causes["variant"] == ASKED].set_index(["data", "method"])
    here = ours.set_index(["data", "method"])
    rows = [
        [TITLES[data], method, *_beside(there.loc[(data, method)], TABLE_1[data][method], here.loc[(data, method)])]
        for data, method in there.index.intersection(here.index)
        if not method.startswith("COPA")
    ]
    if not rows:
        return []
    header = ["data", "method", *(NAMES[m] for m in MEASURES)]
    return [f"DiCE and its correction in the experiment {TEXTS[ASKED]!r} (printed; ours):", Grid(header, rows)]


def _beside(there: "pd.Series[float]", printed: dict[str, Printed], here: "pd.Series[float]") -> list[str]:
    """Write each measure of an experiment with what is printed, and ours."""
    return [
        f"{spread(there[m], there[f'{m}_sd'])} ({spread(printed[m].mean, printed[m].sd)}; {number(here[m])})"
        for m in MEASURES
    ]


def _cell(cell: Agreement) -> list[str]:
    return [
        TITLES[cell.data],
        cell.method,
        NAMES[cell.measure],
        spread(cell.mean, cell.sd),
        spread(cell.printed, cell.printed_sd),
        TEXTS.get(cell.variant, "none is nearer"),
        number(cell.variant_mean),
        "yes" if cell.explained else "no",
    ]
