"""From menus of a model that is only asked to rows: written out, asked about, bounded."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from copa.arrays import Array
from copa.planner.construction import Construction, Request
from copa.planner.delivery import Applicants, Delivered, bound_options, guarantee_holds
from copa.planner.fitted import Fitted
from copa.planner.tries.samples import Rows
from copa.planning.menus import Menus

if TYPE_CHECKING:
    import pandas as pd


def deliver_menus(
    fitted: Fitted,
    applicants: Applicants,
    menus: Menus,
    request: Request,
    points_of: Callable[[Rows, "pd.DataFrame"], Array],
) -> Construction:
    """Deliver menus, drop rows that the model refuses, and see which guarantees hold.

    Parameters
    ----------
    points_of : rows, and the same as a table, as points of the ball, (M, D)
    """
    owner, option = np.nonzero(np.arange(menus.values.shape[1]) < menus.counts[:, None])
    rows = Rows(owner, menus.values[owner, option], menus.atoms[owner, option])
    table = rows.frame(fitted.space, applicants)
    points = points_of(rows, table)
    own = applicants.places.take(owner)
    effort = fitted.space.effort(own, rows.values[:, None], rows.atoms[:, None])[:, 0]
    delivered = Delivered(table, owner, points, points, fitted.model.accepts(table), effort, effort)
    if not delivered.accepted.all():
        delivered = delivered.keep(delivered.accepted)
    bounds = bound_options(delivered.points, delivered.owner, len(applicants), fitted.ball, request.n_jobs)
    reached = guarantee_holds(bounds, delivered.owner, request.guarantee_for, request.guarantee)
    return Construction(menus, delivered, bounds, bounds.lower, reached)
