"""Standard streams that outlive their reader: `copa gate ... | head -1` ends with the exit code of its verdict."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any


class OpenStream:
    """A text stream whose output is thrown away from the moment on at which its reader has closed the pipe.

    Parameters
    ----------
    stream : file object
        Text is written to it as long as someone reads it.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text."""
        try:
            self._stream.write(text)
        except OSError as error:
            self._throw_away(error)
        return len(text)

    def flush(self) -> None:
        """Write what is held back."""
        try:
            self._stream.flush()
        except OSError as error:
            self._throw_away(error)

    def _throw_away(self, error: OSError) -> None:
        """Lead the stream to nowhere, also what it still holds; an error other than a closed pipe is said, once."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            raise error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def open_streams() -> Iterator[None]:
    """Let a command finish although nobody reads its output to the end: its exit code says what it found."""
    streams: list[Any] = [OpenStream(stream or io.StringIO()) for stream in (sys.stdout, sys.stderr)]  # None: closed
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        try:
            yield
        finally:
            for stream in streams:
                stream.flush()
