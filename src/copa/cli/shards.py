"""Finished blocks of a long run, on disk: what an interruption leaves, and what `--resume` goes on from."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from copa.cli.messages import MisuseError
from copa.cli.run_lock import locked_folder
from copa.exceptions import DataError
from copa.plans import PlanBatch
from copa.whole_files import remove_abandoned_parts, write_atomically

FORMAT, VERSION = "copa-shards", 1
MANIFEST = "run.json"
_NAME = re.compile(r"block-([0-9]{6,})\.copa")
_PART = re.compile(r"\.(block-[0-9]{6,}\.copa|run\.json)\.[0-9a-f]{8}\.part")


class Shards:
    """A folder `<output>.partial` with a file per finished block, and what they were made from.

    Parameters
    ----------
    output : path of the final file
    made_from : bundle, input and settings, as JSON holds them: shards of other ones are not mixed
    outputs : all files that the run writes in the end
    """

    def __init__(self, output: Path, made_from: Mapping[str, Any], outputs: Sequence[Path] = ()) -> None:
        self.folder = output.with_name(f"{output.name}.partial")
        self._made_from = json.loads(json.dumps({"format": FORMAT, "version": VERSION, **made_from}))
        self._outputs = [str(path.absolute()) for path in outputs]

    @contextmanager
    def begun(self, *, resume: bool) -> Iterator[None]:
        """Make the folder, or take up what an earlier run left in it; no other run gets in meanwhile.

        In the end the folder stays only if there are finished blocks in it.
        """
        with locked_folder(self.folder):
            try:
                self._begin(resume=resume)
                yield
            finally:
                if not self.finished:
                    (self.folder / MANIFEST).unlink(missing_ok=True)

    def _begin(self, *, resume: bool) -> None:
        self._remove_parts()
        if self.finished and not resume:
            raise MisuseError(
                f"{self.folder} holds what an earlier run finished; go on from there with --resume, or remove it"
            )
        if self.finished:
            self._require_same_run()
        content = self._made_from | {"outputs": self._outputs}
        write_atomically(self.folder / MANIFEST, json.dumps(content, indent=1).encode())

    def _remove_parts(self) -> None:
        """Remove what an earlier run had half written when it was killed: its blocks, and its outputs."""
        for path in self.folder.iterdir():
            if _PART.fullmatch(path.name):
                path.unlink()
        try:
            outputs = json.loads((self.folder / MANIFEST).read_bytes())["outputs"]
            for name in outputs:
                remove_abandoned_parts(Path(name))
        except (OSError, ValueError, KeyError, TypeError):
            return  # there was no run before, or what it left is refused in a moment

    def _require_same_run(self) -> None:
        try:
            found = json.loads((self.folder / MANIFEST).read_bytes())
        except (OSError, ValueError) as error:
            raise MisuseError(f"{self.folder} is not what a run of copa left ({error}); remove the folder") from error
        found = found if isinstance(found, dict) else {}
        different = [key for key, value in self._made_from.items() if found.get(key) != value]
        if different:
            raise MisuseError(
                f"{self.folder} is of another run: {', '.join(different)} differ; give the same as before, or remove "
                "the folder to begin anew"
            )

    @property
    def finished(self) -> frozenset[int]:
        """Numbers of the blocks that are done."""
        if not self.folder.is_dir():
            return frozenset()
        found = [_NAME.fullmatch(path.name) for path in self.folder.iterdir()]
        return frozenset(int(match[1]) for match in found if match)

    def keep(self, number: int, batch: PlanBatch) -> None:
        """Write a finished block, all of it or nothing."""
        batch.save(self._path(number))

    def read(self, n_blocks: int) -> Iterator[PlanBatch]:
        """Yield all blocks in order, one at a time."""
        for number in range(n_blocks):
            try:
                yield PlanBatch.load(self._path(number))
            except DataError as error:
                raise DataError(f"{error}; remove this file and run again with --resume") from error

    def remove(self) -> None:
        """Remove the shards, whose content is in the outputs now."""
        for number in self.finished:
            self._path(number).unlink()

    def _path(self, number: int) -> Path:
        return self.folder / f"block-{number:06d}.copa"
