"""Letters for applicants: the decision, its reasons, and the options, on one page in plain words."""

from copa.letters.letter import Letter, LetterSettings
from copa.letters.numbers import check_numbers
from copa.letters.writer import LetterWriter

__all__ = ["Letter", "LetterSettings", "LetterWriter", "check_numbers"]
