"""The closed form of one option, in a ball of any size."""

from copa.theory.sets.ambiguity import MomentBall

guarantee = MomentBall([1.0], [[1.0]], 0.0).guarantee
