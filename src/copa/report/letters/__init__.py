"""Letters for applicants: the decision, its reasons, and the options, on one page in plain words."""

from copa.report.letters.letter import Letter, LetterSettings
from copa.report.letters.numbers import check_numbers
from copa.report.letters.writer import LetterWriter, write_letter

__all__ = ["Letter", "LetterSettings", "LetterWriter", "check_numbers", "write_letter"]
