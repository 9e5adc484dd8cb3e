"""A planner on disk: settings and schema as JSON, numbers as arrays, refits as skops has them. Nothing is executed."""

from copa.planner.files.front import load_planner, pack_planner, save_planner, unpack_planner

__all__ = ["load_planner", "pack_planner", "save_planner", "unpack_planner"]
