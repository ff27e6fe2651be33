"""The count cache: a number for each text counted, and never the text itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from thusfar.tokens.confidence import Confidence
from thusfar.tokens.counters import Counter

CACHE_ENTRIES: Final = 200_000  # about 30 MB at most


class CountCache:
    """Counts of texts, recognised by their hash.

    No content is kept and object identity plays no part. The hash is SipHash under a key of this
    process, so that nobody outside can make two texts collide; by chance two of 200,000 texts do
    with a probability of 1e-9. Entries are held in two generations: when the newer is full, the
    older is forgotten.

    Args:
        entries: Most numbers to hold. Unit: texts.
    """

    __slots__ = ("_half", "new", "old")

    def __init__(self, entries: int = CACHE_ENTRIES) -> None:
        self._half: Final = max(1, entries // 2)
        self.new: dict[int, int] = {}
        self.old: dict[int, int] = {}

    def keep(self, made: dict[int, int]) -> None:
        """Add counts; more than half of what the cache holds are not worth keeping."""
        if len(self.new) + len(made) > self._half:
            self.old, self.new = self.new, {}
        if len(made) <= self._half:
            self.new.update(made)

    def __len__(self) -> int:
        return len(self.new) + len(self.old)


class CachedCounter:
    """A counter that asks another one only for texts it has not counted yet.

    Args:
        counter: What counts. The same text must always give the same number.
        cache: Where the counts are; a cache of its own by default.
    """

    __slots__ = ("_counter", "cache", "confidence", "name")

    def __init__(self, counter: Counter, cache: CountCache | None = None) -> None:
        self._counter: Final = counter
        self.cache: Final = CountCache() if cache is None else cache
        self.name: Final[str] = counter.name
        self.confidence: Final[Confidence] = counter.confidence

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Count each text, in order; new ones go to the counter in one call, each once."""
        keys = list(map(hash, texts))
        found = list(map(self.cache.new.get, keys))
        if None not in found:
            return found  # type: ignore[return-value]  # there is no None in it
        if not self.cache.old and found.count(None) == len(set(keys)) == len(keys):
            counts = self._counter.count_many(texts)  # all of them new, and each once
            self.cache.keep(dict(zip(keys, counts, strict=True)))
            return counts
        missing = {key: i for i, key in enumerate(keys) if found[i] is None}
        made = self._aged(missing) if self.cache.old else {}
        if missing:
            counts = self._counter.count_many([texts[i] for i in missing.values()])
            made.update(zip(missing, counts, strict=True))
        self.cache.keep(made)
        return [
            made[key] if count is None else count for key, count in zip(keys, found, strict=True)
        ]

    def _aged(self, missing: dict[int, int]) -> dict[int, int]:
        """Take what the older generation knows out of what is missing."""
        old = self.cache.old
        known = {key: old[key] for key in missing if key in old}
        for key in known:
            del missing[key]
        return known
