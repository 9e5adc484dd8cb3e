"""The cheapest row that meets a goal: greedy completion, then reduction and exchange (compiled)."""

from numba import njit

from copa._core._kernels.compiling import inner, leaf
from copa.planner.search._kernels.cost import column_cost, farthest_for, row_cost
from copa.planner.search._kernels.numeric_moves import grid_floor, on_grid, value_nearest, value_towards_goal
from copa.planner.search._kernels.problem import (
    TOLERANCE,
    copy_row,
    count_changes,
    inside,
    level_or,
    merit,
    merit_after,
    move,
    n_tries,
)

# A move must save this much to count: no endless exchange of equals.
SAVING = 1e-9
# Bounds on loops that end by themselves: each round of them improves the row.
ROUNDS = 200
LEAPS = 20  # of two columns at once, in one completion: each tries all pairs
ANY_DISTANCE = 1e300


@njit(**inner)
def enter(problem, region, row):
    """Bring a row into the feasible region: an applicant's own value may lie outside."""
    for f in range(row.values.size):
        value = row.values[f]
        if f < problem.steps.size:
            value = inside(region, f, value)
        elif not region.allowed[int(value)]:
            nearest = -1
            for a in range(problem.starts[f], problem.starts[f + 1]):
                if region.allowed[a] and (nearest < 0 or abs(a - value) < abs(nearest - value)):
                    nearest = a
            value = float(nearest) if nearest >= 0 else value
        if value != row.values[f]:
            move(problem, row, f, value)


@njit(**inner)
def best_addition(problem, region, cost, goal, row, barred):
    """The move that brings a row nearer to the goal at the best price: (column, value), column -1 if none does.

    `barred` is a column that must stay as it is, or -1.
    """
    now = merit(goal, row)
    full = count_changes(region, row) >= region.cap
    best, column, value = 0.0, -1, 0.0
    for f in region.open:
        held = row.values[f]
        if f == barred or (full and held == region.own[f]):
            continue
        before = column_cost(cost, region, f, held)
        for k in range(n_tries(problem, f, 2)):
            if f < problem.steps.size:
                v = value_towards_goal(problem, region, goal, row, f, k == 1, now, ANY_DISTANCE)
            else:
                v = level_or(problem, region, f, k, held)
            if v == held:
                continue
            price = max(column_cost(cost, region, f, v) - before, SAVING)
            if -now / price <= best:  # no merit is above zero: it cannot be a better one
                continue
            gain = merit_after(problem, goal, row, f, v) - now
            if gain <= TOLERANCE:
                continue
            rate = gain / price
            if rate > best:
                best, column, value = rate, f, v
    return column, value


@njit(**inner)
def complete(problem, region, cost, goal, row, barred, spare):
    """Add moves until the goal is met, each the best for its price; False where no move helps any more.

    `barred` is a column that must stay as it is, or -1.
    """
    leaps = 0
    for _ in range(ROUNDS):
        if merit(goal, row) >= -TOLERANCE:
            return True
        if problem.stop[0] != 0:
            return False
        column, value = best_addition(problem, region, cost, goal, row, barred)
        if column >= 0:
            move(problem, row, column, value)
            continue
        leaps += 1
        if leaps > LEAPS or barred >= 0 or not leap(problem, region, cost, goal, row, spare):
            return False
    return merit(goal, row) >= -TOLERANCE


@njit(**inner)
def leap(problem, region, cost, goal, row, spare):
    """Several moves at once, where no single one helps: a rule ties columns together, or the cap is reached.

    The first move takes a column to an end of its range, to another level, or back; then rules that it breaks are
    mended by other columns, and the best further move is made.
    """
    if row.slack.size == 0 and count_changes(region, row) < region.cap:
        return False
    best, column, value = merit(goal, row) + SAVING, -1, 0.0
    for f in region.open:
        for k in range(n_tries(problem, f, 3)):
            v = first_half(problem, region, row, f, k)
            if v == row.values[f]:
                continue
            if problem.stop[0] != 0:
                return False
            copy_row(row, spare)
            move(problem, spare, f, v)
            mend_rules(problem, region, goal, spare, f)
            if count_changes(region, spare) > region.cap:
                continue
            second, second_value = best_addition(problem, region, cost, goal, spare, f)
            result = merit(goal, spare)
            if second >= 0:
                result = merit_after(problem, goal, spare, second, second_value)
            if result > best:
                best, column, value = result, f, v
    if column < 0:
        return False
    move(problem, row, column, value)
    mend_rules(problem, region, goal, row, column)
    second, value = best_addition(problem, region, cost, goal, row, column)
    if second >= 0:
        move(problem, row, second, value)
    return True


@njit(**inner)
def mend_rules(problem, region, goal, row, first):
    """Make up for broken rules, one after another, by numbers not moved yet: in a chain, each breaks the next.

    `first` is the column whose move broke the first one; it stays.
    """
    n_numeric, n_rules = problem.steps.size, row.slack.size
    moved = region.moved
    for f in range(n_numeric):
        moved[f] = False
    for _ in range(n_rules):
        broken, worst = -1, -TOLERANCE
        for r in range(n_rules):
            if row.slack[r] < worst:
                broken, worst = r, row.slack[r]
        if broken < 0:
            return
        best, column, value = -ANY_DISTANCE, -1, 0.0
        for f in region.open:
            if f >= n_numeric or f == first or moved[f] or problem.rules[broken, f] == 0.0:
                continue
            wanted = row.values[f] + row.slack[broken] / problem.rules[broken, f]
            v = on_grid(problem, region, f, wanted, wanted > row.values[f])
            result = merit_after(problem, goal, row, f, v)
            if result > best:
                best, column, value = result, f, v
        if column < 0:
            return
        move(problem, row, column, value)
        moved[column] = True


@njit(**leaf)
def first_half(problem, region, row, column, k):
    """The k-th value to try first: the ends of a range and the applicant's own number, or a level."""
    if column >= problem.steps.size:
        return level_or(problem, region, column, k, row.values[column])
    if k == 0:
        return region.lower[column]
    if k == 1:
        return region.upper[column]
    return inside(region, column, region.own[column])


@njit(**leaf)
def cheaper_value(problem, region, cost, goal, row, column):
    """The cheapest value of a column that still meets the goal, all others as they are: (saving, value)."""
    value = row.values[column]
    before = column_cost(cost, region, column, value)
    if before <= SAVING:
        return 0.0, value
    if column < problem.steps.size:
        nearest = value_nearest(problem, region, goal, row, column, inside(region, column, cost.reference[column]))
        return before - column_cost(cost, region, column, nearest), nearest
    saving, cheapest = 0.0, value
    for k in range(n_tries(problem, column, 0)):
        level = level_or(problem, region, column, k, value)
        saved = before - column_cost(cost, region, column, level)
        if level != value and saved > saving and merit_after(problem, goal, row, column, level) >= -TOLERANCE:
            saving, cheapest = saved, level
    return saving, cheapest


@njit(**inner)
def shrink(problem, region, cost, goal, row):
    """Take back whatever is not needed, column by column, the greatest saving first."""
    for _ in range(ROUNDS):
        best, column, value = SAVING, -1, 0.0
        full = count_changes(region, row) >= region.cap
        for f in region.open:
            if full and row.values[f] == region.own[f]:
                continue
            saving, v = cheaper_value(problem, region, cost, goal, row, f)
            if saving > best:
                best, column, value = saving, f, v
        if column < 0:
            return
        move(problem, row, column, value)


@njit(**inner)
def exchange(problem, region, cost, goal, row, trial, best_row):
    """Undo or cheapen one column and make up for it with another, where that is cheaper; True if it was.

    This is the search over categories: each is swapped for every cheaper one, and the rest is optimised again.
    """
    total = row_cost(cost, region, row)
    best = total - SAVING
    found = False
    for f in region.open:
        before = column_cost(cost, region, f, row.values[f])
        if before <= SAVING:
            continue
        for k in range(n_tries(problem, f, 2)):
            v = part_way_back(problem, region, cost, row, f, k)
            if v == row.values[f]:
                continue
            saving = before - column_cost(cost, region, f, v)
            if saving <= SAVING:
                continue
            copy_row(row, trial)
            move(problem, trial, f, v)
            if count_changes(region, trial) > region.cap:
                continue
            price = total - saving
            if merit(goal, trial) < -TOLERANCE:
                price += patch(problem, region, cost, goal, trial, f, best - price)
            if price < best:
                best = price
                found = True
                copy_row(trial, best_row)
    if found:
        copy_row(best_row, row)
    return found


@njit(**leaf)
def part_way_back(problem, region, cost, row, column, k):
    """The k-th cheaper value to try: the reference of a number or the middle of the way to it, or a level."""
    value = row.values[column]
    if column >= problem.steps.size:
        return level_or(problem, region, column, k, value)
    wanted = inside(region, column, cost.reference[column])
    if k == 0:
        return wanted
    return inside(region, column, grid_floor(0.5 * (wanted + value), problem.steps[column]))


@njit(**inner)
def patch(problem, region, cost, goal, row, barred, limit):
    """Meet the goal again by one further move, the cheapest; return its price, infinite if none is below `limit`."""
    now = merit(goal, row)
    full = count_changes(region, row) >= region.cap
    least, column, value = limit, -1, 0.0
    for f in region.open:
        held = row.values[f]
        if f == barred or (full and held == region.own[f]):
            continue
        before = column_cost(cost, region, f, held)
        for k in range(n_tries(problem, f, 2)):
            if f < problem.steps.size:
                farthest = farthest_for(cost, row, f, before + least)
                v = value_towards_goal(problem, region, goal, row, f, k == 1, now, farthest)
            else:
                v = level_or(problem, region, f, k, held)
            if v == held:
                continue
            price = column_cost(cost, region, f, v) - before
            if price < least and merit_after(problem, goal, row, f, v) >= -TOLERANCE:
                least, column, value = price, f, v
    if column < 0:
        return ANY_DISTANCE
    move(problem, row, column, value)
    return least


@njit(**inner)
def economise(problem, region, cost, goal, row, trial, spare):
    """Lower the cost of a row that meets the goal, until no single move and no exchange of two does."""
    for _ in range(ROUNDS):
        shrink(problem, region, cost, goal, row)
        if problem.stop[0] != 0 or not exchange(problem, region, cost, goal, row, trial, spare):
            return
