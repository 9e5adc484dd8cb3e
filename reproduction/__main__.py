"""`python -m reproduction`, from the root of a checkout."""

import sys
from importlib.util import find_spec

if find_spec("typer") is None:
    sys.exit("error: the command needs typer; install with: pip install -e '.[cli]'")

from reproduction.command import app

app(prog_name="python -m reproduction")
