"""Run the benchmarks: `python -m benchmarks [names...] [--quick]`."""

import argparse

from benchmarks import (
    batch,
    black_boxes,
    black_boxes_fresh,
    construction,
    dated,
    dimension,
    end_to_end,
    lower,
    mahalanobis,
    reporting,
    retraining,
    robustness,
    start_up,
    throughput,
    trees_scoring,
    upper_and_any,
)

QUESTIONS = {
    "lower": lower,
    "dimension": dimension,
    "upper_and_any": upper_and_any,
    "batch": batch,
    "retraining": retraining,
    "construction": construction,
    "mahalanobis": mahalanobis,
    "end_to_end": end_to_end,
    "black_boxes": black_boxes,
    "black_boxes_fresh": black_boxes_fresh,
    "start_up": start_up,
    "throughput": throughput,
    "trees_scoring": trees_scoring,
    "robustness": robustness,
    "dated": dated,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which to run, of {', '.join(QUESTIONS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller and fewer: a minute, for a first impression")
    arguments = parser.parse_args()
    names = arguments.names or list(QUESTIONS)
    if unknown := [name for name in names if name not in QUESTIONS]:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(QUESTIONS)}")

    load = reporting.load_average()
    print(reporting.surroundings(load))
    sections = []
    for name in names:
        question = QUESTIONS[name]
        section = reporting.Section(name, question.__doc__, question.run(quick=arguments.quick))
        print(section.as_text(), flush=True)
        sections.append(section)

    if arguments.quick:
        print(f"\n{reporting.PAGE.name} is written without --quick only")
        return
    reporting.write_page(sections, load)
    for section in sections:
        if section.name == "start_up":
            reporting.write_first_calls({row.name: row.seconds for row in section.rows})
    print(f"\nwrote {reporting.PAGE}")


if __name__ == "__main__":
    main()
