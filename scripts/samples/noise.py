"""Seeded deviations. Only +, -, *, / on random.random(), so that every machine draws the same numbers."""

import hashlib
import random

_SQRT3 = 1.7320508075688772


def stream_of(seed, *words):
    """A random stream of its own for a purpose, so that a new draw elsewhere does not shift this one."""
    text = "/".join(str(w) for w in (seed, *words))
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


class Noise:
    """Deviations that belong to a key (drawn once) and jitter that belongs to a launch (drawn each time)."""

    def __init__(self, seed, *words):
        self._seed = (seed, *words)
        self._jitter = stream_of(*self._seed, "jitter")
        self._fixed = {}

    def between(self, low, high, *key):
        """Uniform in [low, high], the same for the same key."""
        if key not in self._fixed:
            self._fixed[key] = stream_of(*self._seed, *key).random()
        return low + (high - low) * self._fixed[key]

    def spread(self, sigma):
        """About normal around 1 (sum of four uniforms), a new draw each time; never below 1 - 3.5 sigma."""
        r = self._jitter.random
        return 1.0 + sigma * _SQRT3 * (r() + r() + r() + r() - 2.0)

    def chance(self, share):
        return self._jitter.random() < share

    def uniform(self, low, high):
        return low + (high - low) * self._jitter.random()
