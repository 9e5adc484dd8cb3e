#include "_core/kernels/arrays.hpp"
#include "models/trees/kernels/reading.hpp"
#include "planner/search/kernels/nearest.hpp"
#include "planner/search/kernels/plans.hpp"
#include "planner/search/kernels/reliability.hpp"
#include "planner/search/kernels/trees_boxes.hpp"
#include "planner/search/kernels/trees_plans.hpp"
#include "planner/search/kernels/trees_proof.hpp"

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

// Those of search/tree_arguments.py.
on_trees::SearchedTrees read_searched_trees(nb::handle r) {
    return {input<std::int64_t, 1>(r, "ensembles"), input<std::int64_t, 1>(r, "roots"), input<std::int32_t, 2>(r, "nodes"),
            input<double, 1>(r, "value"), input<std::uint64_t, 1>(r, "sets"), input<std::int64_t, 1>(r, "n_codes")};
}
on_trees::TreeProblem read_tree_problem(nb::handle r) {
    return {input<std::int64_t, 1>(r, "starts"),     input<std::int64_t, 1>(r, "coded"),
            input<std::int64_t, 1>(r, "first_cell"), input<double, 1>(r, "least"),
            input<double, 1>(r, "greatest"),         input<std::int32_t, 1>(r, "cell_codes"),
            input<double, 2>(r, "rules"),            input<double, 1>(r, "factors"),
            number<std::int64_t>(r, "cap"),          number<std::int64_t>(r, "n_models"),
            {input<std::int64_t, 1>(r, "stop").data}};
}
on_trees::TreeSettings read_tree_settings(nb::handle r) {
    return {number<std::int64_t>(r, "width"), number<std::int64_t>(r, "depth"), number<std::int64_t>(r, "n_reduced"),
            number<std::int64_t>(r, "n_exchanged"),
            number<std::int64_t>(r, "n_starts"), number<double>(r, "spare")};
}
on_trees::TreeRequirement read_tree_requirement(nb::handle r) {
    return {number<double>(r, "least_today"), number<double>(r, "factor"), number<double>(r, "best")};
}
on_trees::TreeProof read_tree_proof(nb::handle r) {
    return {output<double, 1>(r, "cost"), output<std::int64_t, 1>(r, "finished"), output<std::int64_t, 1>(r, "met"),
            output<double, 1>(r, "row")};
}
on_trees::FoundTreeRows read_tree_rows(nb::handle r) {
    return {output<std::int64_t, 1>(r, "counts"), output<double, 3>(r, "rows"), output<double, 3>(r, "said"),
            output<std::int64_t, 1>(r, "finished")};
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
    module.def(
        "search_trees",
        [](nb::handle problem, nb::handle trees, nb::handle links, nb::handle prices, nb::handle regions,
           Input<std::int32_t, 2> codes, Input<double, 2> slack, Input<double, 2> training, nb::handle settings,
           nb::handle found) {
            const auto problem_view = search::read_tree_problem(problem);
            const auto trees_view = search::read_searched_trees(trees);
            const auto links_view = trees::read_links(links);
            const auto prices_view = search::read_prices(prices);
            const search::on_trees::TreeApplicants applicants{search::read_regions(regions), view(codes), view(slack)};
            const auto training_view = view(training);
            const auto settings_view = search::read_tree_settings(settings);
            const auto found_view = search::read_tree_rows(found);
            nb::gil_scoped_release unlocked;
            search::on_trees::search_trees(problem_view, trees_view, links_view, prices_view, applicants, training_view,
                                 settings_view, found_view);
        },
        "problem"_a, "trees"_a, "links"_a, "prices"_a, "regions"_a, "codes"_a.noconvert(), "slack"_a.noconvert(),
        "training"_a.noconvert(), "settings"_a, "found"_a,
        "Search good rows on tree ensembles, and write them to `found`; the named tuples of search/tree_arguments.py.");
    module.def(
        "prove_tree_row",
        [](nb::handle problem, nb::handle trees, nb::handle links, nb::handle prices, nb::handle regions,
           Input<std::int32_t, 2> codes, nb::handle requirement, nb::handle proof) {
            const auto problem_view = search::read_tree_problem(problem);
            const auto trees_view = search::read_searched_trees(trees);
            const auto links_view = trees::read_links(links);
            const auto prices_view = search::read_prices(prices);
            const auto regions_view = search::read_regions(regions);
            const auto codes_view = view(codes);
            const auto requirement_view = search::read_tree_requirement(requirement);
            const auto proof_view = search::read_tree_proof(proof);
            nb::gil_scoped_release unlocked;
            search::on_trees::prove_cheapest(problem_view, trees_view, links_view, prices_view, regions_view, codes_view,
                                             requirement_view, proof_view);
        },
        "problem"_a, "trees"_a, "links"_a, "prices"_a, "regions"_a, "codes"_a.noconvert(), "requirement"_a, "proof"_a,
        "Prove what the first applicant's rows cost at least, and write it to `proof`; named tuples as above.");
    module.def(
        "leaf_boxes",
        [](nb::handle trees, Input<std::int32_t, 2> codes, Output<std::int32_t, 2> low, Output<std::int32_t, 2> high) {
            const auto trees_view = search::read_searched_trees(trees);
            const auto codes_view = view(codes);
            const auto low_view = view(low), high_view = view(high);
            nb::gil_scoped_release unlocked;
            search::on_trees::leaf_boxes(trees_view, codes_view, low_view, high_view);
        },
        "trees"_a, "codes"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(),
        "Narrow boxes of codes (M, C) around coded rows (M, C) until no tree comes to another leaf within them.");
    module.attr("VARIANTS") = search::VARIANTS;
}

}  // namespace copa
