"""What was acknowledged survives a power cut with FULL; with NORMAL what is left is whole."""

from __future__ import annotations

import random
from pathlib import Path

from durability.power_cut import Disk, ForgetfulVFS
from thusfar.drive import Steps
from thusfar.storage import SqliteStore
from thusfar.storage import questions as q
from thusfar.testing.store_laws.told import assistant, calling, result, sound, thread, user

ROUNDS = 40


def test_everything_acknowledged_survives_with_full(tmp_path: Path) -> None:
    for round_number in range(ROUNDS):
        acknowledged, stored = _cut(tmp_path, "FULL", round_number)

        assert acknowledged <= stored, "an acknowledged message was lost"


def test_the_disk_forgets_so_that_normal_loses_the_newest(tmp_path: Path) -> None:
    lost = 0
    for round_number in range(ROUNDS):
        acknowledged, stored = _cut(tmp_path, "NORMAL", round_number)
        lost += len(acknowledged - stored)

    assert lost > 0, "the disk did not forget, so the test above shows nothing"


def test_what_is_kept_of_a_request_costs_no_sync_and_survives_with_the_turn(
    tmp_path: Path,
) -> None:
    for round_number in range(ROUNDS // 4):
        chance = random.Random(round_number)
        before, after = tmp_path / f"{round_number}", tmp_path / f"{round_number}-after"
        before.mkdir()
        after.mkdir()
        disk = Disk()
        name = f"forgetful-receipts-{round_number}"
        vfs = ForgetfulVFS(name, disk)
        store = SqliteStore(before / "cut.db", vfs=name)
        told = thread(store)
        told.append(user("u"))
        turns = chance.randint(1, 30)
        for i in range(turns):
            synced = disk.syncs
            store.run(_kept(f"r{i}"))
            assert disk.syncs == synced
            told.append(assistant(f"a{i}", "x" * 900))
            assert disk.syncs > synced
        disk.cut_power(after, chance)
        store.close()
        vfs.unregister()
        left = SqliteStore(after / "cut.db")
        sound(thread(left))
        assert thread(left).read(limit=turns).ids == tuple(f"a{i}" for i in range(turns))
        assert [left.run(_read(f"r{i}")) for i in range(turns)] == ["{}"] * turns


def _kept(key: str) -> Steps[None]:
    yield q.Lock("of", "requests", durable=False)
    yield q.Write((q.PutRecord("receipt", key, "", "{}", 0),))


def _read(key: str) -> Steps[str | None]:
    return (yield q.ReadRecord("receipt", key))


def _cut(home: Path, synchronous: str, round_number: int) -> tuple[set[str], set[str]]:
    """Append, cut the power, and give what was acknowledged and what is stored afterwards."""
    chance = random.Random(round_number)
    before = home / f"{synchronous}-{round_number}"
    after = home / f"{synchronous}-{round_number}-after"
    before.mkdir()
    after.mkdir()
    disk = Disk()
    name = f"forgetful-{synchronous}-{round_number}"
    vfs = ForgetfulVFS(name, disk)
    store = SqliteStore(before / "cut.db", synchronous=synchronous, vfs=name)
    told = thread(store)
    acknowledged: set[str] = set()
    for i in range(chance.randint(1, 60)):
        told.append([calling(f"c{i}", "k"), result(f"t{i}", "k"), assistant(f"a{i}", "x" * 900)])
        acknowledged |= {f"c{i}", f"t{i}", f"a{i}"}
        if i % 9 == 4:
            told.edit(told.append(user(f"u{i}")).message_ids[0], "again", id=f"e{i}")
            acknowledged |= {f"u{i}", f"e{i}"}
    disk.cut_power(after, chance)
    store.close()
    vfs.unregister()
    reopened = thread(SqliteStore(after / "cut.db"))
    if synchronous == "NORMAL" and reopened.read().head is None:
        return acknowledged, set()
    sound(reopened)
    stored = {i for b in reopened.branches() for i in reopened.read(at=b.leaf).ids}
    for message_id in stored:
        if message_id[0] in "cta":
            assert {f"{kind}{message_id[1:]}" for kind in "cta"} <= stored, "a group was torn"
    return acknowledged, stored
