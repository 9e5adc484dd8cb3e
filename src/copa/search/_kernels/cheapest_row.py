"""The cheapest row that meets a goal: greedy completion, then reduction and exchange (compiled)."""

import numpy as np
from numba import njit

from copa._core._kernels.compiling import inner
from copa.search._kernels.cost import column_cost, farthest_for, line_cost, row_cost
from copa.search._kernels.numeric_moves import grid_floor, on_grid, value_nearest, value_towards_goal
from copa.search._kernels.problem import (
    TOLERANCE,
    copy_row,
    count_changes,
    is_changed,
    move,
    move_choice,
    move_line,
    worth,
    worth_after,
    worth_of_choice,
)

# A move must save this much to count: no endless exchange of equals.
SAVING = 1e-9
# Bounds on loops that end by themselves: each round of them improves the row.
ROUNDS = 200
LEAPS = 20  # of two columns at once, in one completion: each tries all pairs
ANY_DISTANCE = 1e300


@njit(**inner)
def enter(terrain, place, row):
    """Bring a row into the allowed ranges: an applicant's own value may lie outside."""
    for i in range(row.values.size):
        inside = min(max(row.values[i], place.lower[i]), place.upper[i])
        if inside != row.values[i]:
            move_line(terrain, row, i, inside)
    for c in range(row.atoms.size):
        if not place.allowed[row.atoms[c]]:
            nearest = -1
            for a in range(terrain.first[c], terrain.last[c]):
                if place.allowed[a] and (nearest < 0 or abs(a - row.atoms[c]) < abs(nearest - row.atoms[c])):
                    nearest = a
            if nearest >= 0:
                move_choice(terrain, row, c, nearest)


@njit(**inner)
def best_addition(terrain, place, cost, goal, row, barred):
    """The move that brings a row nearer to the goal at the best price: (column, value, atom), column -1 if none does.

    `barred` is a column that must stay as it is, or -1.
    """
    n_lines = row.values.size
    now = worth(goal, row)
    full = count_changes(place, row) >= place.cap
    best, column, value, atom = 0.0, -1, 0.0, -1
    for f in place.open:
        if f == barred or (full and not is_changed(place, row, f)):
            continue
        is_numeric = f < n_lines
        before = column_cost(cost, place, row, f)
        for k in range(0 if is_numeric else terrain.first[f - n_lines], 2 if is_numeric else terrain.last[f - n_lines]):
            if is_numeric:
                v, a = value_towards_goal(terrain, place, goal, row, f, k == 1, now, ANY_DISTANCE), -1
                if v == row.values[f]:
                    continue
            else:
                v, a = 0.0, k
                if a == row.atoms[f - n_lines] or not place.allowed[a]:
                    continue
            gain = worth_after(terrain, goal, row, f, v, a) - now
            if gain <= TOLERANCE:
                continue
            rate = gain / max(cost_at(cost, place, f, v, a) - before, SAVING)
            if rate > best:
                best, column, value, atom = rate, f, v, a
    return column, value, atom


@njit(**inner)
def cost_at(cost, place, column, value, atom):
    """What a column costs at another value."""
    n_lines = place.values.size
    if column < n_lines:
        return line_cost(cost, place, column, value)
    fee = cost.fees[column] if atom != place.atoms[column - n_lines] else 0.0
    return cost.choice_prices[atom] + fee


@njit(**inner)
def complete(terrain, place, cost, goal, row, barred, spare):
    """Add moves until the goal is met, each the best for its price; False where no move helps any more.

    `barred` is a column that must stay as it is, or -1.
    """
    leaps = 0
    for _ in range(ROUNDS):
        if worth(goal, row) >= -TOLERANCE:
            return True
        if terrain.stop[0] != 0:
            return False
        column, value, atom = best_addition(terrain, place, cost, goal, row, barred)
        if column >= 0:
            move(terrain, row, column, value, atom)
            continue
        leaps += 1
        if leaps > LEAPS or barred >= 0 or not leap(terrain, place, cost, goal, row, spare):
            return False
    return worth(goal, row) >= -TOLERANCE


@njit(**inner)
def leap(terrain, place, cost, goal, row, spare):
    """Several moves at once, where no single one helps: a rule ties columns together, or the cap is reached.

    The first move takes a column to an end of its range, to another value, or back; then rules that it breaks are
    mended by other columns, and the best further move is made.
    """
    if row.slack.size == 0 and count_changes(place, row) < place.cap:
        return False
    n_lines = row.values.size
    best, column, value, atom = worth(goal, row) + SAVING, -1, 0.0, -1
    for f in place.open:
        is_numeric = f < n_lines
        for k in range(0 if is_numeric else terrain.first[f - n_lines], 3 if is_numeric else terrain.last[f - n_lines]):
            v, a = first_half(place, row, f, k)
            if (v == row.values[f]) if is_numeric else (a == row.atoms[f - n_lines] or not place.allowed[a]):
                continue
            if terrain.stop[0] != 0:
                return False
            copy_row(row, spare)
            move(terrain, spare, f, v, a)
            mend_rules(terrain, place, goal, spare, f)
            if count_changes(place, spare) > place.cap:
                continue
            second, second_value, second_atom = best_addition(terrain, place, cost, goal, spare, f)
            result = worth(goal, spare)
            if second >= 0:
                result = worth_after(terrain, goal, spare, second, second_value, second_atom)
            if result > best:
                best, column, value, atom = result, f, v, a
    if column < 0:
        return False
    move(terrain, row, column, value, atom)
    mend_rules(terrain, place, goal, row, column)
    second, value, atom = best_addition(terrain, place, cost, goal, row, column)
    if second >= 0:
        move(terrain, row, second, value, atom)
    return True


@njit(**inner)
def mend_rules(terrain, place, goal, row, first):
    """Make up for broken rules, one after another, by lines that have not moved yet: in a chain, each breaks the next.

    `first` is the column whose move broke the first one; it stays.
    """
    n_lines, n_rules = row.values.size, row.slack.size
    moved = np.zeros(n_lines, np.bool_)
    for _ in range(n_rules):
        broken, worst = -1, -TOLERANCE
        for r in range(n_rules):
            if row.slack[r] < worst:
                broken, worst = r, row.slack[r]
        if broken < 0:
            return
        best, line, value = -ANY_DISTANCE, -1, 0.0
        for f in place.open:
            if f >= n_lines or f == first or moved[f] or terrain.rules[broken, f] == 0.0:
                continue
            wanted = row.values[f] + row.slack[broken] / terrain.rules[broken, f]
            v = on_grid(terrain, place, f, wanted, wanted > row.values[f])
            result = worth_after(terrain, goal, row, f, v, -1)
            if result > best:
                best, line, value = result, f, v
        if line < 0:
            return
        move_line(terrain, row, line, value)
        moved[line] = True


@njit(**inner)
def first_half(place, row, column, k):
    """The k-th thing to try with a column: a line's ends and its own value, or the atom k."""
    if column >= row.values.size:
        return 0.0, k
    if k == 0:
        return place.lower[column], -1
    if k == 1:
        return place.upper[column], -1
    return min(max(place.values[column], place.lower[column]), place.upper[column]), -1


@njit(**inner)
def cheaper_value(terrain, place, cost, goal, row, column):
    """The cheapest value of a column that still meets the goal, all others as they are: (saving, value, atom)."""
    n_lines = row.values.size
    before = column_cost(cost, place, row, column)
    if before <= SAVING:
        return 0.0, 0.0, -1
    if column < n_lines:
        wanted = min(max(cost.reference[column], place.lower[column]), place.upper[column])
        value = value_nearest(terrain, place, goal, row, column, wanted)
        return before - line_cost(cost, place, column, value), value, -1
    c = column - n_lines
    saving, atom = 0.0, -1
    for a in range(terrain.first[c], terrain.last[c]):
        if a == row.atoms[c] or not place.allowed[a]:
            continue
        saved = before - cost_at(cost, place, column, 0.0, a)
        if saved > saving and worth_of_choice(terrain, goal, row, c, a) >= -TOLERANCE:
            saving, atom = saved, a
    return saving, 0.0, atom


@njit(**inner)
def shrink(terrain, place, cost, goal, row):
    """Take back whatever is not needed, column by column, the greatest saving first."""
    for _ in range(ROUNDS):
        best, column, value, atom = SAVING, -1, 0.0, -1
        full = count_changes(place, row) >= place.cap
        for f in place.open:
            if full and not is_changed(place, row, f):
                continue
            saving, v, a = cheaper_value(terrain, place, cost, goal, row, f)
            if saving > best:
                best, column, value, atom = saving, f, v, a
        if column < 0:
            return
        move(terrain, row, column, value, atom)


@njit(**inner)
def exchange(terrain, place, cost, goal, row, trial, best_row):
    """Undo or cheapen one column and make up for it with another, where that is cheaper; True if it was.

    This is the search over categories: each is swapped for every cheaper one, and the rest is optimised again.
    """
    n_lines = row.values.size
    total = row_cost(cost, place, row)
    best = total - SAVING
    found = False
    for f in place.open:
        before = column_cost(cost, place, row, f)
        if before <= SAVING:
            continue
        is_numeric = f < n_lines
        for k in range(0 if is_numeric else terrain.first[f - n_lines], 2 if is_numeric else terrain.last[f - n_lines]):
            v, a = part_way_back(terrain, place, cost, row, f, k)
            if (v == row.values[f]) if is_numeric else (a == row.atoms[f - n_lines] or not place.allowed[a]):
                continue
            saving = before - cost_at(cost, place, f, v, a)
            if saving <= SAVING:
                continue
            copy_row(row, trial)
            move(terrain, trial, f, v, a)
            if count_changes(place, trial) > place.cap:
                continue
            price = total - saving
            if worth(goal, trial) < -TOLERANCE:
                price += patch(terrain, place, cost, goal, trial, f, best - price)
            if price < best:
                best = price
                found = True
                copy_row(trial, best_row)
    if found:
        copy_row(best_row, row)
    return found


@njit(**inner)
def part_way_back(terrain, place, cost, row, column, k):
    """The k-th cheaper thing to try with a column: a line's reference or the middle of the way, or the atom k."""
    if column >= row.values.size:
        return 0.0, k
    wanted = min(max(cost.reference[column], place.lower[column]), place.upper[column])
    if k == 0:
        return wanted, -1
    middle = 0.5 * (wanted + row.values[column])
    return min(max(grid_floor(middle, terrain.steps[column]), place.lower[column]), place.upper[column]), -1


@njit(**inner)
def patch(terrain, place, cost, goal, row, barred, limit):
    """Meet the goal again by one further move, the cheapest; return its price, infinite if none is below `limit`."""
    n_lines = row.values.size
    now = worth(goal, row)
    full = count_changes(place, row) >= place.cap
    least, column, value, atom = limit, -1, 0.0, -1
    for f in place.open:
        if f == barred or (full and not is_changed(place, row, f)):
            continue
        is_numeric = f < n_lines
        before = column_cost(cost, place, row, f)
        for k in range(0 if is_numeric else terrain.first[f - n_lines], 2 if is_numeric else terrain.last[f - n_lines]):
            if is_numeric:
                farthest = farthest_for(cost, row, f, before + least)
                v, a = value_towards_goal(terrain, place, goal, row, f, k == 1, now, farthest), -1
                if v == row.values[f]:
                    continue
            else:
                v, a = 0.0, k
                if a == row.atoms[f - n_lines] or not place.allowed[a]:
                    continue
            price = cost_at(cost, place, f, v, a) - before
            if price < least and worth_after(terrain, goal, row, f, v, a) >= -TOLERANCE:
                least, column, value, atom = price, f, v, a
    if column < 0:
        return ANY_DISTANCE
    move(terrain, row, column, value, atom)
    return least


@njit(**inner)
def economise(terrain, place, cost, goal, row, trial, spare):
    """Lower the cost of a row that meets the goal, until no single move and no exchange of two does."""
    for _ in range(ROUNDS):
        shrink(terrain, place, cost, goal, row)
        if terrain.stop[0] != 0 or not exchange(terrain, place, cost, goal, row, trial, spare):
            return
