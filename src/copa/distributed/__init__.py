"""Plans for very many applicants, on the workers of a Dask cluster or of Spark."""

from copa.distributed.dask_tables import plan
from copa.distributed.folder import PlanFolder
from copa.distributed.spark import PlanMapper

__all__ = ["PlanFolder", "PlanMapper", "plan"]
