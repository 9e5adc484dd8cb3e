"""How functions are compiled that only other compiled functions call."""

from typing import Any

from copa.kernels.compiling import options

# No wrapper for calls from Python, which takes longer to compile than the function where many arrays are passed, and no
# file of their own: the entry points' machine code contains them.
inner: dict[str, Any] = {**options, "cache": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
