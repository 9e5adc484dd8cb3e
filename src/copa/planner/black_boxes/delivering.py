"""From menus of a model that is only asked to rows: written out, asked about, bounded."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from copa.arrays import Array
from copa.planner.delivery import Applicants, Delivered
from copa.planner.fitted import Fitted
from copa.planner.judge import Construction, judge_and_bound
from copa.planner.request import Request
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
    """Deliver menus, have them judged, and see which guarantees hold.

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
    return judge_and_bound(fitted, applicants, menus, delivered, request)
