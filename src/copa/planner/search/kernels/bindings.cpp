#include "_core/kernels/arrays.hpp"
#include "planner/search/kernels/nearest.hpp"
#include "planner/search/kernels/plans.hpp"
#include "planner/search/kernels/reliability.hpp"

namespace copa {

using namespace nb::literals;

namespace search {
namespace {

// The named tuples of search/arguments.py, field by field.
SearchProblem read_problem(nb::handle r) {
    return {input<std::int64_t, 1>(r, "starts"), input<double, 2>(r, "cov_gram"), input<double, 2>(r, "drift_gram"),
            input<double, 1>(r, "means"),        input<double, 1>(r, "scores"),   input<double, 2>(r, "rules"),
            input<double, 1>(r, "steps"),        number<std::int64_t>(r, "cap"),  {input<std::int64_t, 1>(r, "stop").data}};
}
Prices read_prices(nb::handle r) {
    return {input<double, 1>(r, "per_unit"), input<double, 2>(r, "gaps"), input<double, 1>(r, "penalties"),
            number<std::int64_t>(r, "power")};
}
Regions read_regions(nb::handle r) {
    return {input<double, 2>(r, "own"),     input<double, 2>(r, "lower"),     input<double, 2>(r, "upper"),
            input<bool, 2>(r, "allowed"),   input<double, 2>(r, "reference"), input<double, 2>(r, "leaving"),
            input<double, 2>(r, "level_prices")};
}
Starts read_starts(nb::handle r) {
    return {input<double, 2>(r, "scores"), input<double, 2>(r, "cov_products"), input<double, 2>(r, "drift_products"),
            input<double, 2>(r, "slack")};
}
GoalArrays read_goals(nb::handle r) {
    return {input<double, 1>(r, "a"),      input<double, 1>(r, "b"),      input<double, 1>(r, "c"),
            input<double, 1>(r, "floors"), input<double, 1>(r, "shares"), input<double, 1>(r, "radii"),
            number<double>(r, "margin"),   number<bool>(r, "moves_spread")};
}
PoolSettings read_settings(nb::handle r) {
    return {input<double, 2>(r, "multipliers"), number<double>(r, "diversity_weight"), input<double, 1>(r, "alike")};
}
FoundPlans read_found_plans(nb::handle r) {
    return {output<std::int64_t, 1>(r, "outcomes"), output<std::int64_t, 1>(r, "counts"), output<double, 3>(r, "options"),
            output<double, 2>(r, "surest"),         output<double, 1>(r, "highest"),      output<double, 3>(r, "pool"),
            output<std::int64_t, 1>(r, "pool_sizes")};
}
Targets read_targets(nb::handle r) {
    return {input<double, 2>(r, "numbers"), input<double, 1>(r, "per_unit"), input<double, 2>(r, "levels")};
}
FoundRows read_found_rows(nb::handle r) {
    return {output<std::int64_t, 1>(r, "outcomes"), output<double, 2>(r, "rows"), output<double, 1>(r, "highest")};
}
Halves read_halves(nb::handle r) { return {input<double, 2>(r, "directions"), input<double, 2>(r, "scores")}; }
Agreement read_agreement(nb::handle r) { return {output<double, 1>(r, "chosen"), output<double, 1>(r, "asked")}; }
Choice read_choice(nb::handle r) {
    return {input<double, 1>(r, "own"),          input<double, 1>(r, "reference"), input<double, 1>(r, "leaving"),
            input<double, 1>(r, "level_prices"), input<double, 2>(r, "rows"),      number<double>(r, "diversity_weight"),
            input<double, 1>(r, "alike"),        output<std::int64_t, 1>(r, "chosen"), output<std::int64_t, 1>(r, "size")};
}

}  // namespace
}  // namespace search

void bind_search(nb::module_& module) {
    module.def(
        "find_plans",
        [](nb::handle problem, nb::handle prices, nb::handle regions, nb::handle starts, nb::handle goals,
           nb::handle settings, nb::handle found) {
            const auto problem_view = search::read_problem(problem);
            const auto prices_view = search::read_prices(prices);
            const auto regions_view = search::read_regions(regions);
            const auto starts_view = search::read_starts(starts);
            const auto goals_view = search::read_goals(goals);
            const auto settings_view = search::read_settings(settings);
            const auto found_view = search::read_found_plans(found);
            nb::gil_scoped_release unlocked;
            search::find_plans(problem_view, prices_view, regions_view, starts_view, goals_view, settings_view, found_view);
        },
        "problem"_a, "prices"_a, "regions"_a, "starts"_a, "goals"_a, "settings"_a, "found"_a,
        "Find the plan of every applicant, and write it to `found`; the named tuples of search/arguments.py.");
    module.def(
        "nearest_rows",
        [](nb::handle problem, nb::handle regions, nb::handle starts, nb::handle goals, nb::handle targets,
           nb::handle found) {
            const auto problem_view = search::read_problem(problem);
            const auto regions_view = search::read_regions(regions);
            const auto starts_view = search::read_starts(starts);
            const auto goals_view = search::read_goals(goals);
            const auto targets_view = search::read_targets(targets);
            const auto found_view = search::read_found_rows(found);
            nb::gil_scoped_release unlocked;
            search::nearest_rows(problem_view, regions_view, starts_view, goals_view, targets_view, found_view);
        },
        "problem"_a, "regions"_a, "starts"_a, "goals"_a, "targets"_a, "found"_a,
        "Find for every target the row nearest to it that meets the goal (where none does, the nearest attempt).");
    module.def(
        "compare_halves",
        [](nb::handle problem, nb::handle prices, nb::handle regions, nb::handle starts, nb::handle goals,
           nb::handle halves, nb::handle found) {
            const auto problem_view = search::read_problem(problem);
            const auto prices_view = search::read_prices(prices);
            const auto regions_view = search::read_regions(regions);
            const auto starts_view = search::read_starts(starts);
            const auto goals_view = search::read_goals(goals);
            const auto halves_view = search::read_halves(halves);
            const auto found_view = search::read_agreement(found);
            nb::gil_scoped_release unlocked;
            search::compare_halves(problem_view, prices_view, regions_view, starts_view, goals_view, halves_view, found_view);
        },
        "problem"_a, "prices"_a, "regions"_a, "starts"_a, "goals"_a, "halves"_a, "found"_a,
        "Sum the scores of rows that halves of the data choose for every applicant, by these halves and by the others.");
    module.def(
        "select_options",
        [](nb::handle prices, nb::handle choice) {
            const auto prices_view = search::read_prices(prices);
            const auto choice_view = search::read_choice(choice);
            nb::gil_scoped_release unlocked;
            search::select_options(prices_view, choice_view);
        },
        "prices"_a, "choice"_a,
        "Choose a plan from rows that are known already, by the same criterion as `find_plans`.");
    module.attr("VARIANTS") = search::VARIANTS;
}

}  // namespace copa
