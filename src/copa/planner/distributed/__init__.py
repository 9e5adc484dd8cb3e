"""Plans for very many applicants, on the workers of a Dask cluster or of Spark."""

from copa.planner.distributed.dask_tables import plan
from copa.planner.distributed.folder import PlanFolder
from copa.planner.distributed.spark import PlanMapper

__all__ = ["PlanFolder", "PlanMapper", "plan"]
