import pandas as pd

from reproduction.experiments.causes import VARIANTS
from reproduction.experiments.published import (
    CLASSIFIERS,
    EXAMPLES,
    LINEAR_ROWS,
    TABLE_1,
    TABLE_2,
    agreements,
    orderings,
    within,
)
from reproduction.pages.comparison import ASKED, agreement_section, broken_orderings_section, causes_section


def summary(**changes):
    """A summary of Table 1 that equals the printed one, but for some cells `data/method/measure`."""
    rows = []
    for data, methods in TABLE_1.items():
        for method, cells in methods.items():
            row = {"data": data, "method": method, "distance": 1.0}
            for measure, cell in cells.items():
                row[measure] = changes.get(f"{data}/{method}/{measure}", cell.mean)
                row[f"{measure}_sd"] = cell.sd
            rows.append(row)
    return pd.DataFrame(rows)


def test_the_printed_numbers_are_those_of_the_paper():
    assert TABLE_1["sba"]["COPA (1, 10)"]["diversity"].mean == 0.380
    assert TABLE_1["student"]["DiCE"]["empirical"].sd == 0.363
    assert TABLE_2["german"]["COPA (0.2, 2)"]["current"].mean == 0.040
    assert TABLE_2["student"]["MahalanobisCrr"]["empirical"].mean == 0.689
    assert CLASSIFIERS["sba", "present"][1].mean == 0.86
    assert EXAMPLES[(42.0, 7174.0, "A92", 30.0)]["COPA"] == (0.88, 1.000)
    assert all(tuple(rows) == LINEAR_ROWS for rows in TABLE_1.values())


def test_two_printed_deviations_and_their_rounding_decide():
    assert within(1.0, 1.2, 0.1)
    assert not within(1.0, 1.22, 0.1)
    assert within(0.9945, 0.995, 0.0)
    assert not within(0.990, 0.995, 0.0)


def test_all_printed_cells_agree_with_themselves():
    cells = agreements(summary())
    assert len(cells) == 60
    assert all(cell.agrees for cell in cells)


def test_a_difference_is_told_with_the_experiment_that_comes_nearest():
    key = "german/COPA (1, 10)/lower"
    causes = pd.concat(
        [
            summary(**{key: 0.96}).assign(variant="near"),
            summary(**{key: 0.92}).assign(variant="nearest"),
            summary(**{key: 0.999}).assign(variant="farther"),
        ],
        ignore_index=True,
    )
    apart = [cell for cell in agreements(summary(**{key: 0.99}), causes) if not cell.agrees]
    assert [(cell.variant, cell.variant_mean, cell.explained) for cell in apart] == [("nearest", 0.92, True)]


def test_an_experiment_that_is_farther_off_explains_nothing():
    key = "german/COPA (1, 10)/lower"
    causes = summary(**{key: 0.5}).assign(variant="farther")
    apart = [cell for cell in agreements(summary(**{key: 0.99}), causes) if not cell.agrees]
    assert [(cell.variant, cell.explained) for cell in apart] == [("", False)]


def test_orderings_of_the_printed_table_hold_but_for_those_that_the_paper_itself_breaks():
    broken = [(o.data, o.measure, o.higher, o.lower) for o in orderings(summary()) if not o.holds]
    assert broken == [("german", "empirical", "COPA (0.2, 2)", "MahalanobisCrr")]  # 0.997 against 0.999


def test_ones_are_ties():
    tied = summary(**{"german/MahalanobisCrr/empirical": 1.0, "german/COPA (0.2, 2)/empirical": 0.9996})
    assert all(o.holds for o in orderings(tied))


def test_rows_that_were_left_out_are_not_compared():
    without = summary()
    without = without[without["method"] != "DiCE"]
    assert {(o.higher, o.lower) for o in orderings(without)} == {
        (name, "MahalanobisCrr") for name in LINEAR_ROWS if name.startswith("COPA")
    }


def test_an_ordering_that_does_not_hold_is_told_with_the_experiment_in_which_it_does():
    key = "sba/MahalanobisCrr/empirical"
    applicants = pd.concat([summary(**{key: 0.1}).assign(applicant=i) for i in range(2)], ignore_index=True)
    variant = VARIANTS[0]
    causes = summary(**{key: 0.9}).assign(variant=variant.key)
    grid = broken_orderings_section(applicants, causes).body[0]
    rows = [row for row in grid.rows if row[0] == "SBA loans"]
    assert rows == [
        [
            "SBA loans",
            "empirical validity",
            "MahalanobisCrr above DiCE",
            "0.100, 0.801",
            f"{variant.text} (0.900 above 0.801)",
        ]
    ]


def test_dice_with_the_refits_that_the_program_asks_for_stands_beside_ours_and_the_printed():
    key = "sba/DiCE/empirical"
    applicants = pd.concat([summary(**{key: 0.0}).assign(applicant=i) for i in range(2)], ignore_index=True)
    causes = summary(**{key: 0.75}).assign(variant=ASKED)
    grid = causes_section(causes, applicants).body[3]
    assert {row[1] for row in grid.rows} == {"DiCE", "MahalanobisCrr"}
    row = next(row for row in grid.rows if row[:2] == ["SBA loans", "DiCE"])
    assert row[-1] == "0.750 ± 0.061 (0.801 ± 0.061; 0.000)"


def test_the_experiment_that_alone_comes_nearest_to_the_whole_table_is_named():
    best, other = VARIANTS[:2]
    causes = pd.concat(
        [
            summary(**{"sba/DiCE/lower": 0.1, "sba/DiCE/empirical": 0.1}).assign(variant=other.key),
            summary(**{"sba/DiCE/lower": 0.1}).assign(variant=best.key),
        ],
        ignore_index=True,
    )
    applicants = pd.concat([summary().assign(applicant=i) for i in range(2)], ignore_index=True)
    text = agreement_section(applicants, causes).body[0]
    assert text.endswith(f"The best alone brings 59 of its 60 cells within them: {best.text}.")
