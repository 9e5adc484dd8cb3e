"""Commands whose help shows flags as flags: an option that takes no value is shown without the kind of one."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


def _without_values(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class Command(TyperCommand):
    """A command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options and arguments, with that for help."""
        return _without_values(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options and arguments, with that for help."""
        return _without_values(super().get_params(ctx))
