// Search in one applicant's problem: rows with few changes first, then made cheaper.
//
// One table tells what all models say of a row after every change of one column. A beam goes from rows to rows with one
// change more, ranked by effort and by what is missing. Rows that are good enough are reduced: changes are taken back or
// made smaller, alone and in exchange for others. All good rows that are met on the way go into the pool.
#pragma once

#include <set>

#include "trees_pool.hpp"

namespace copa::search::on_trees {

inline constexpr double CHEAPER = 1e-9;             // least effort that a move must save
inline constexpr double RATES[] = {0.5, 1.0, 2.0};  // relative prices of what is missing that a beam is ranked by
inline constexpr std::size_t N_RATES = std::size(RATES);

// A row, and what the models say of it.
struct State {
    Place place;
    double cost = 0.0, penalty = 0.0;  // prices to their power, and penalties
    std::int64_t changes = 0;
    double effort = 0.0, missing = 0.0;  // missing of the rung; broken rules included
    Said said{0.0, 0.0, 0.0};
    double rank = 0.0;
};

// A change of one column of a row.
struct Move {
    Index i;
    std::uint8_t j;
    double cost, penalty;
    std::int64_t changes;
    double effort, missing;
    Said said;
};

class TreeSearch {
public:
    TreeSearch(const Standing& at, const Links& links, const Ladder& ladder, const Specialised& problem, TreePool& pool)
        : at_(at), ladder_(ladder), problem_(problem), pool_(pool), walker_(problem, links),
          n_open_(static_cast<Index>(problem.open.size())) {}

    // The state of a row by what today's model says, and by what the others say where that accepts it and they are asked.
    State state_of(Place place, Index rung, bool ask_others = true) const {
        State state;
        state.place = std::move(place);
        for (Index i = 0; i < n_open_; ++i) {
            const OpenColumn& open = problem_.open[i];
            const Index j = state.place[i];
            if (j != open.own) state.cost += open.prices[j], state.penalty += open.penalty, ++state.changes;
        }
        state.effort = effort_of(state.cost, state.penalty);
        state.said = walker_.score(state.place.data(), ask_others ? ladder_.accepted_by : FAR);
        state.missing = ladder_.missing(state.said, rung) + broken(slack_at(state.place));
        return state;
    }

    // From a row to rows with one change more, as long as they are cheaper than `spare` times the cheapest one known.
    void widen(const State& root, Index rung, Index width, Index depth, double spare) {
        std::vector<State> rows{root};
        std::set<Place> seen{root.place};
        double rate = 0.0;
        for (Index turn = 0; turn < depth && !rows.empty(); ++turn) {
            std::vector<State> children[N_RATES];
            for (const State& row : rows) {
                if (at_.problem.stop()) return;
                if (row.effort >= spare * best_effort(rung)) continue;
                expand(row, rung);
                if (rate == 0.0) rate = cheapest_gain(row);
                const double best = best_effort(rung);
                if (best < FAR) rate = best / std::max(root.missing, ROUNDING);
                for (std::size_t r = 0; r < N_RATES; ++r) add_first(row, RATES[r] * rate, spare * best, children[r]);
            }
            rows = first_of_each(children, seen, width);
        }
    }

    // The best row that can be reached by the move that leaves least missing, again and again.
    State climb(State state, Index rung) {
        while (state.missing > 0.0 && !at_.problem.stop()) {
            expand(state, rung);
            const Move* best = nullptr;
            for (const Move& move : moves_) {
                if (move.missing < (best == nullptr ? state.missing - CHEAPER : best->missing)) best = &move;
            }
            if (best == nullptr) break;
            make(state, *best);
        }
        return state;
    }

    // Take changes of a good row back, or make them smaller, one at a time, then in exchange for another.
    State reduce(State state, Index rung, bool exchange) {
        while (!at_.problem.stop()) {
            expand(state, rung);
            const Move* best = cheapest(state.effort);
            if (best != nullptr) {
                make(state, *best);
            } else if (!exchange || !exchanged(state, rung)) {
                break;
            }
        }
        return state;
    }

    double best_effort(Index rung) const {
        double least = FAR;
        for (Index q = rung; q <= ladder_.top(); ++q) {
            for (const PooledRow& row : pool_.at(q)) least = std::min(least, row.effort);
        }
        return least;
    }

    // What single moves are known to lead to, of the state that was expanded last.
    const std::vector<Move>& moves() const { return moves_; }

    // Look at every single move of a row, and put the good ones into the pool.
    void expand(const State& state, Index rung) {
        walker_.table(state.place.data(), table_);
        moves_.clear();
        const std::vector<double> slack = slack_at(state.place);
        std::vector<std::size_t> best(ladder_.top() + 1);
        for (Index i = 0; i < n_open_; ++i) {
            const OpenColumn& open = problem_.open[i];
            const Index here = state.place[i];
            const std::int64_t was = here != open.own;
            best.assign(best.size(), NONE);
            for (Index j = 0; j < static_cast<Index>(open.values.size()); ++j) {
                if (j == here) continue;
                const std::int64_t is = j != open.own;
                Move move{i, static_cast<std::uint8_t>(j), 0.0, 0.0, state.changes - was + is, 0.0, 0.0, {}};
                if (move.changes > at_.problem.cap && is > was) continue;
                const std::size_t k = problem_.first[i] + j;
                move.cost = state.cost - (was ? open.prices[here] : 0.0) + (is ? open.prices[j] : 0.0);
                move.penalty = state.penalty + static_cast<double>(is - was) * open.penalty;
                move.effort = effort_of(move.cost, move.penalty);
                move.said = said_of(table_.today[k], table_.mean[k], table_.square[k], walker_.n_guides());
                const double beyond = broken_after(slack, open, here, j);
                move.missing = ladder_.missing(move.said, rung) + beyond;
                if (beyond == 0.0 && move.changes <= at_.problem.cap && move.changes > 0) {
                    const Index reached = ladder_.reached(move.said, ladder_.top());
                    if (reached >= 0 && (best[reached] == NONE || move.effort < moves_[best[reached]].effort)) {
                        best[reached] = moves_.size();
                    }
                }
                moves_.push_back(move);
            }
            for (Index q = 0; q <= ladder_.top(); ++q) {
                if (best[q] != NONE) keep(state.place, moves_[best[q]], q);
            }
        }
    }

private:
    static constexpr double FAR = 1e300;
    static constexpr std::size_t NONE = static_cast<std::size_t>(-1);

    double effort_of(double cost, double penalty) const {
        return (at_.prices.power == 2 ? std::sqrt(std::max(cost, 0.0)) : cost) + penalty;
    }

    // What a candidate takes from the slack of a rule.
    double use(Index rule, const OpenColumn& open, Index j) const {
        const Floats shares = at_.problem.rules[rule];
        const Index f = open.column;
        return at_.is_number(f) ? shares[f] * open.values[j] : shares[level(open.values[j])];
    }
    std::vector<double> slack_at(const Place& place) const {
        std::vector<double> slack(at_.slack.begin(), at_.slack.end());
        for (std::size_t r = 0; r < slack.size(); ++r) {
            for (Index i = 0; i < n_open_; ++i) {
                const OpenColumn& open = problem_.open[i];
                if (place[i] != open.own) slack[r] -= use(r, open, place[i]) - use(r, open, open.own);
            }
        }
        return slack;
    }
    static double broken(const std::vector<double>& slack) {
        double total = 0.0;
        for (double s : slack) total += s < -ROUNDING ? -s : 0.0;
        return total;
    }
    double broken_after(const std::vector<double>& slack, const OpenColumn& open, Index here, Index j) const {
        double total = 0.0;
        for (std::size_t r = 0; r < slack.size(); ++r) {
            const double left = slack[r] - use(r, open, j) + use(r, open, here);
            total += left < -ROUNDING ? -left : 0.0;
        }
        return total;
    }

    void make(State& state, const Move& move) const {
        state.place[move.i] = move.j;
        state.cost = move.cost, state.penalty = move.penalty, state.changes = move.changes;
        state.effort = move.effort, state.missing = move.missing, state.said = move.said;
    }

    void keep(const Place& place, const Move& move, Index rung) {
        PooledRow row{{at_.own.begin(), at_.own.end()}, {}, move.effort, move.said};
        row.changed.assign(row.values.size(), false);
        for (Index i = 0; i < n_open_; ++i) {
            const OpenColumn& open = problem_.open[i];
            const Index j = i == move.i ? move.j : place[i];
            if (j == open.own) continue;
            row.values[open.column] = open.values[j], row.changed[open.column] = true;
        }
        pool_.add(rung, std::move(row));
    }

    // Effort of a unit of what is missing, by the move that gains it at least effort.
    double cheapest_gain(const State& state) const {
        double least = FAR;
        for (const Move& move : moves_) {
            const double gain = state.missing - move.missing;
            if (gain > 0.0) least = std::min(least, std::max(move.effort - state.effort, CHEAPER) / gain);
        }
        return least < FAR ? 2.0 * least : 0.0;
    }

    // Of each column the move to the row of least rank.
    void add_first(const State& state, double rate, double most, std::vector<State>& children) const {
        const Move* best = nullptr;
        double least = 0.0;
        const auto close = [&] {
            if (best == nullptr) return;
            children.push_back(state);
            make(children.back(), *best);
            children.back().rank = least;
            best = nullptr;
        };
        for (const Move& move : moves_) {
            if (best != nullptr && move.i != best->i) close();
            if (move.missing == 0.0 || move.missing >= state.missing || move.effort >= most) continue;
            const double rank = move.effort + rate * move.missing;
            if (best == nullptr || rank < least) best = &move, least = rank;
        }
        close();
    }

    // Rows of least rank of each list in turn, each row once.
    static std::vector<State> first_of_each(std::vector<State> (&lists)[N_RATES], std::set<Place>& seen, Index width) {
        std::vector<State> rows;
        std::size_t next[N_RATES] = {};
        for (auto& list : lists) {
            std::stable_sort(list.begin(), list.end(), [](const State& a, const State& b) { return a.rank < b.rank; });
        }
        for (bool more = true; more && static_cast<Index>(rows.size()) < width;) {
            more = false;
            for (std::size_t r = 0; r < N_RATES && static_cast<Index>(rows.size()) < width; ++r) {
                while (next[r] < lists[r].size() && !seen.insert(lists[r][next[r]].place).second) ++next[r];
                if (next[r] < lists[r].size()) rows.push_back(std::move(lists[r][next[r]++])), more = true;
            }
        }
        return rows;
    }

    // The cheapest good move below an effort.
    const Move* cheapest(double most) const {
        const Move* best = nullptr;
        for (const Move& move : moves_) {
            if (move.missing == 0.0 && move.changes > 0 && move.effort < most - CHEAPER) best = &move, most = move.effort;
        }
        return best;
    }

    // Take one change back, or some way, and make another; whether that was cheaper.
    bool exchanged(State& state, Index rung) {
        State best;
        for (Index i = 0; i < n_open_ && !at_.problem.stop(); ++i) {
            const Index own = problem_.open[i].own;
            if (state.place[i] == own) continue;
            State without = state;
            without.place[i] = static_cast<std::uint8_t>(own);
            without = state_of(std::move(without.place), rung);
            expand(without, rung);
            if (const Move* move = cheapest(best.place.empty() ? state.effort : best.effort)) {
                best = std::move(without);
                make(best, *move);
            }
        }
        if (best.place.empty()) return false;
        state = std::move(best);
        return true;
    }

    const Standing& at_;
    const Ladder& ladder_;
    const Specialised& problem_;
    TreePool& pool_;
    Walker walker_;
    Index n_open_;
    MoveTable table_;
    std::vector<Move> moves_;
};

}  // namespace copa::search::on_trees
