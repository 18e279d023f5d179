"""A log that is damaged is told from one that ends in the middle of a write, and commits are not lost in silence."""

from __future__ import annotations

import random
import shutil
import struct
from pathlib import Path

import pytest

from tablewright.dynamo import InternalServerError
from tablewright.engine import DamagedError, Engine, StorageError
from tablewright.engine.closed_folder import verify_closed
from tablewright.engine.copies.copy_folder import CopyFolder
from tablewright.engine.copies.folder_backup import back_up
from tablewright.engine.storage.data_folder import WriteAheadLog
from tablewright.engine.storage.log_check import EndMark, check_log, log_frames, read_end_mark
from tests.clocks import Clock
from tests.engine.storage.damage import DATABASE, LOG, Seen, copied, fill, flip, look, quiet
from tests.engine.storage.disk import Disk, create, keys, put

END = "tablewright.end"
HEADER, FRAME = 32, 24 + 4096


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A folder as a killed process leaves it: ten items, each of a commit of its own, and all of them in the log."""
    with Engine.open(tmp_path / "open") as engine:
        engine._background.stop()
        create(engine)
        for number in range(10):
            put(engine, f"item {number}")
        shutil.copytree(tmp_path / "open", tmp_path / "killed")
    return tmp_path / "killed"


def ends_of_commits(folder: Path) -> list[int]:
    """The numbers of the frames that end a commit."""
    content = (folder / LOG).read_bytes()
    frames = (len(content) - HEADER) // FRAME
    return [n for n in range(1, frames + 1) if any(content[HEADER + (n - 1) * FRAME + 4 :][:4])]


def frame_at(number: int) -> int:
    return HEADER + (number - 1) * FRAME


def stored(folder: Path, *, accept_loss: bool = False) -> set[str]:
    with Engine.open(folder, accept_loss=accept_loss) as engine:
        assert engine.verify().ok
        return keys(engine)


ALL = {f"item {number}" for number in range(10)}


def test_what_a_killed_process_left_is_whole(killed: Path) -> None:
    ends = ends_of_commits(killed)
    state = check_log(killed / LOG, read_end_mark(killed / END))
    assert (state.end, state.commits, state.damage, state.is_torn) == (ends[-1], len(ends), None, False)
    mark = read_end_mark(killed / END)
    assert mark is not None
    assert mark.frames == ends[-1]
    assert stored(killed) == ALL


@pytest.mark.requirement("X7")
@pytest.mark.parametrize("commit", [0, 5, -1], ids=["first", "middle", "last"])
@pytest.mark.parametrize("place", [0, 5, 9, 17, 24, 4000], ids=str)
def test_a_log_with_a_changed_byte_is_refused_and_kept(killed: Path, commit: int, place: int) -> None:
    ends = ends_of_commits(killed)
    flip(killed / LOG, frame_at(ends[commit]) + place)
    before = (killed / LOG).read_bytes()
    doubtful = len(ends) - (commit % len(ends))
    for _ in range(2):
        with pytest.raises(DamagedError, match=r"is damaged: frame \d+ .*accept") as refused:
            Engine.open(killed)
        # Whether a frame ends a commit, or is of this generation, may be what has changed.
        assert f"commits that may be lost: {doubtful}" in str(refused.value) or place in (5, 9)
        assert (killed / LOG).read_bytes() == before
        (copy,) = killed.glob("damaged-log-*.wal")
        assert copy.read_bytes() == before
        assert str(copy) in str(refused.value)


@pytest.mark.parametrize("place", [0, 4, 8, 12, 16, 24], ids=str)
def test_a_damaged_header_is_damage(killed: Path, place: int) -> None:
    flip(killed / LOG, place)
    with pytest.raises(DamagedError, match="its header is damaged"):
        Engine.open(killed)
    (killed / END).unlink()
    with pytest.raises(DamagedError, match="its header is damaged"):
        Engine.open(killed)


def test_who_accepts_the_loss_gets_what_came_before_the_damage(killed: Path) -> None:
    ends = ends_of_commits(killed)
    flip(killed / LOG, frame_at(ends[-4]) + 100)
    found = stored(killed, accept_loss=True)
    assert found == {f"item {number}" for number in range(6)}
    assert len(list(killed.glob("damaged-log-*.wal"))) == 1
    # From then on the folder is like any other.
    with Engine.open(killed) as engine:
        put(engine, "later")
        shutil.copytree(killed, killed.parent / "again")
    assert stored(killed.parent / "again") == {*found, "later"}


@pytest.mark.parametrize("has_mark", [True, False])
def test_the_loss_of_a_log_whose_header_is_damaged_can_be_accepted(killed: Path, has_mark: bool) -> None:
    flip(killed / LOG, 20)
    if not has_mark:
        (killed / END).unlink()
    before = (killed / LOG).read_bytes()
    with Engine.open(killed, accept_loss=True) as engine:
        assert engine.verify().ok
        create(engine)
        put(engine, "later")
    (copy,) = killed.glob("damaged-log-*.wal")
    assert copy.read_bytes() == before
    assert copy.stat().st_mode & 0o777 == 0o600
    assert stored(killed) == {"later"}


def test_a_log_that_is_missing_or_cut_off_is_refused(killed: Path) -> None:
    content = (killed / LOG).read_bytes()
    for left in (len(content) - FRAME, len(content) // 2, HEADER, 0, None):
        if left is None:
            (killed / LOG).unlink()
        else:
            (killed / LOG).write_bytes(content[:left])
        with pytest.raises(DamagedError, match="is damaged"):
            Engine.open(killed)
    with Engine.open(killed, accept_loss=True) as engine:
        assert engine.verify().ok


@pytest.mark.parametrize("empty", [False, True])
def test_a_log_without_its_database_is_refused_and_left_as_it_is(killed: Path, empty: bool) -> None:
    (killed / DATABASE).unlink()
    if empty:
        (killed / DATABASE).touch()
    before = (killed / LOG).read_bytes()
    for accept_loss in (False, True):
        with pytest.raises(StorageError, match="no database beside it"):
            Engine.open(killed, accept_loss=accept_loss)
    assert (killed / LOG).read_bytes() == before


# -- the log of another folder, or of another time -----------------------------------------------------------------


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another folder as a killed process leaves it."""
    with Engine.open(tmp_path / "other open") as engine:
        engine._background.stop()
        create(engine)
        for number in range(10):
            put(engine, f"other {number}")
        shutil.copytree(tmp_path / "other open", tmp_path / "other")
    return tmp_path / "other"


@pytest.mark.parametrize("is_closed", [False, True], ids=["killed before a checkpoint", "killed after it was closed"])
def test_the_log_of_another_folder_is_refused(killed: Path, other: Path, is_closed: bool, tmp_path: Path) -> None:
    if is_closed:
        Engine.open(killed).close()
        with Engine.open(killed) as engine:
            engine._background.stop()
            put(engine, "later")
            shutil.copytree(killed, tmp_path / "again")
        killed = tmp_path / "again"
    shutil.copy(other / LOG, killed / LOG)
    before = (killed / LOG).read_bytes()
    with pytest.raises(DamagedError, match=r"it is not the log of this data folder.*accept") as refused:
        Engine.open(killed)
    assert "commits that may be lost: unknown" in str(refused.value)
    assert "it is not the log of this data folder" in verify_closed(killed).problems[0]
    with pytest.raises(DamagedError, match="it is not the log of this data folder"):
        back_up(killed, tmp_path / "copies")
    assert CopyFolder(tmp_path / "copies").names() == []
    assert (killed / LOG).read_bytes() == before
    # Nothing of the other folder gets into this one.
    with Engine.open(killed, accept_loss=True) as engine:
        assert engine.verify().ok
        if not is_closed:
            create(engine)
        put(engine, "at last")
    assert stored(killed) == ({*ALL, "at last"} if is_closed else {"at last"})


def restart(engine: Engine) -> None:
    engine._storage.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()


def test_an_earlier_log_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Engine.open(folder) as engine:
        engine._background.stop()
        create(engine)
        put(engine, "first")
        earlier = (folder / LOG).read_bytes()
        restart(engine)
        put(engine, "second")
        shutil.copytree(folder, tmp_path / "killed")
    (tmp_path / "killed" / LOG).write_bytes(earlier)
    with pytest.raises(DamagedError, match="it is not the log of this data folder"):
        Engine.open(tmp_path / "killed")


@pytest.mark.parametrize("restarts", [1, 2, 10])
@pytest.mark.parametrize("has_commit", [False, True])
def test_a_log_that_has_started_over_since_its_end_was_marked_is_opened(
    tmp_path: Path, restarts: int, has_commit: bool
) -> None:
    """The mark is not synced: after a power cut it may be older than the log."""
    folder, expected = tmp_path / "data", {"first"}
    with Engine.open(folder) as engine:
        engine._background.stop()
        create(engine)
        put(engine, "first")
        mark = (folder / END).read_bytes()
        for number in range(restarts):
            restart(engine)
            if has_commit:
                put(engine, str(number))
                expected.add(str(number))
        shutil.copytree(folder, tmp_path / "cut")
    (tmp_path / "cut" / END).write_bytes(mark)
    shutil.copytree(tmp_path / "cut", tmp_path / "verified")
    assert verify_closed(tmp_path / "verified").ok
    back_up(tmp_path / "verified", tmp_path / "copies")
    assert stored(tmp_path / "cut") == expected


def test_a_log_that_is_about_to_start_over_is_opened_and_copied(tmp_path: Path) -> None:
    """Its new header is there, and no frame of the new commit yet."""
    folder = tmp_path / "data"
    with Engine.open(folder) as engine:
        engine._background.stop()
        create(engine)
        put(engine, "first")
        before, mark = (folder / LOG).read_bytes(), (folder / END).read_bytes()
        restart(engine)
        shutil.copytree(folder, tmp_path / "killed")
        put(engine, "second")
        header = (folder / LOG).read_bytes()[:HEADER]
    (tmp_path / "killed" / LOG).write_bytes(header + before[HEADER:])
    assert (tmp_path / "killed" / END).read_bytes() == mark
    assert back_up(tmp_path / "killed", tmp_path / "copies").problems == []
    Engine.restore_copy(tmp_path / "copies", tmp_path / "restored")
    assert verify_closed(tmp_path / "killed").ok
    assert stored(tmp_path / "restored") == stored(tmp_path / "killed") == {"first"}


def test_a_log_that_was_emptied_and_is_in_use_again_is_opened(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Engine.open(folder) as engine:
        engine._background.stop()
        create(engine)
        put(engine, "first")
        with engine._storage.turn():
            assert engine._storage.empty_log()
        shutil.copytree(folder, tmp_path / "emptied")
        put(engine, "second")
        shutil.copytree(folder, tmp_path / "killed")
    assert stored(tmp_path / "emptied") == {"first"}
    assert stored(tmp_path / "killed") == {"first", "second"}


def test_a_log_that_lacks_synced_commits_is_not_copied(killed: Path, tmp_path: Path) -> None:
    content = (killed / LOG).read_bytes()
    for left in (len(content) - FRAME, HEADER, 0, None):
        if left is None:
            (killed / LOG).unlink()
        else:
            (killed / LOG).write_bytes(content[:left])
        with pytest.raises(DamagedError, match=f"the log {killed / LOG} is damaged"):
            back_up(killed, tmp_path / "copies")
    assert CopyFolder(tmp_path / "copies").names() == []
    (killed / LOG).write_bytes(content)
    assert back_up(killed, tmp_path / "copies").problems == []


# -- a power cut: the last commit was not synced --------------------------------------------------------------


@pytest.fixture
def cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As ``killed``, and one more commit that nobody was told of; the mark has not noticed it."""
    with Engine.open(tmp_path / "open") as engine:
        engine._background.stop()
        create(engine)
        for number in range(10):
            put(engine, f"item {number}")
        monkeypatch.setattr(WriteAheadLog, "mark_end", lambda log: None)
        put(engine, "unsynced", 20_000)
        shutil.copytree(tmp_path / "open", tmp_path / "cut")
    return tmp_path / "cut"


def test_a_log_that_is_torn_anywhere_in_its_last_commit_is_opened(cut: Path, tmp_path: Path) -> None:
    content = (cut / LOG).read_bytes()
    *_, before, last = ends_of_commits(cut)
    assert last - before > 5
    states = {f"cut at {size}": content[:size] for size in range(frame_at(before + 1), len(content), 1000)}
    for lost in range(before + 1, last + 1):
        # A disk may write the frames of a commit in any order.
        start = frame_at(lost)
        states[f"without frame {lost}"] = content[:start] + bytes(FRAME) + content[start + FRAME :]
    for name, state in states.items():
        with copied(cut, tmp_path / "state") as folder:
            (folder / LOG).write_bytes(state)
            assert stored(folder) == ALL, name


def test_what_is_behind_a_torn_end_is_not_taken_for_commits_later(cut: Path, tmp_path: Path) -> None:
    before = ends_of_commits(cut)[-2]
    with open(cut / LOG, "r+b") as file:
        file.seek(frame_at(before + 1))
        file.write(bytes(FRAME))
    with Engine.open(cut) as engine:
        put(engine, "later")
        shutil.copytree(cut, tmp_path / "again")
    (tmp_path / "again" / END).unlink()
    assert stored(tmp_path / "again") == {*ALL, "later"}


def test_two_commits_behind_a_bad_frame_are_damage_without_a_mark_as_well(cut: Path) -> None:
    (cut / END).unlink()
    ends = ends_of_commits(cut)
    flip(cut / LOG, frame_at(ends[-3]) - 10)
    with pytest.raises(DamagedError, match="there are commits after it"):
        Engine.open(cut)


def test_the_mark_is_where_the_log_ends_however_large_commits_are(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Engine.open(folder) as engine:
        engine._background.stop()
        create(engine)
        for generation in range(3):
            for number in range(30):
                put(engine, f"{generation} {number}", size=number % 10 * 3_000)
                state = check_log(folder / LOG, None)
                mark = read_end_mark(folder / END)
                assert (mark and mark.frames, state.damage) == (state.end, None)
            engine._storage.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()


@pytest.mark.parametrize("is_open", [0, 3], ids=["committed", "with frames of an open commit"])
def test_the_end_is_found_whatever_the_log_had_grown_by_before(tmp_path: Path, is_open: int) -> None:
    salts, known = (7, 9), 5
    with open(tmp_path / LOG, "w+b") as log:
        log.write(struct.pack(">16x2I8x", *salts))
        for more in range(20):
            end, last = known + more, known + more + is_open
            for number in range(1, 60):
                own = salts if number <= last else (1, 2)
                commits = number in (known, end)
                log.seek(frame_at(number))
                log.write(struct.pack(">6I", number, 100 * number if commits else 0, *own, 0, 0))
            log.flush()
            for growth in (1, 2, 3, 7, 16, 19, 40):
                found = log_frames(log.fileno(), EndMark(salts, known, growth=growth))
                assert found is not None
                assert (found.frames, found.pages) == (end, 100 * end)
            assert log_frames(log.fileno(), EndMark((1, 1), known)) == found
            assert log_frames(log.fileno(), None) == found


def test_frames_of_an_earlier_generation_are_no_damage(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "open") as engine:
        engine._background.stop()
        create(engine)
        for number in range(20):
            put(engine, f"before {number}")
        engine._storage.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        put(engine, "after")
        frames = ((tmp_path / "open" / LOG).stat().st_size - HEADER) // FRAME
        mark = read_end_mark(tmp_path / "open" / END)
        assert mark is not None
        assert mark.frames < frames
        shutil.copytree(tmp_path / "open", tmp_path / "killed")
    assert "after" in stored(tmp_path / "killed")


# -- any byte -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of every kind, all of it in the log."""
    place, clock = tmp_path_factory.mktemp("killed"), Clock()
    with Engine.open(place / "open", clock=clock) as engine:
        engine._background.stop()
        fill(engine, clock)
        shutil.copytree(place / "open", place / "killed")
    return place / "killed"


def seen(folder: Path) -> Seen | None:
    """What can be read in a folder; None where it is refused."""
    clock = Clock()
    clock.now += 10
    try:
        with Engine.open(folder, clock=clock) as engine:
            engine._background.stop()
            assert engine.verify().ok
            return look(engine, clock)
    except DamagedError:
        return None


def unnoticed(folder: Path, scratch: Path, places: list[int]) -> list[str]:
    with copied(folder, scratch / "truth") as copy:
        truth = seen(copy)
    assert truth is not None
    chooser, wrong = random.Random(5), []
    for place in places:
        bits = chooser.randrange(1, 256)
        with copied(folder, scratch / str(place)) as copy, quiet():
            flip(copy / LOG, place, bits)
            found = seen(copy)
        if found is not None and (found.refused or found.differs_from(truth)):
            wrong.append(f"byte {place} ^ {bits:#x}")
    return wrong


def test_a_changed_byte_of_the_log_is_noticed(folder: Path, tmp_path: Path) -> None:
    size = (folder / LOG).stat().st_size
    assert unnoticed(folder, tmp_path, [3, 20, size - 1, *random.Random(1).sample(range(size), 20)]) == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.requirement("X7")
def test_none_of_a_thousand_changed_bytes_of_the_log_goes_unnoticed(folder: Path, tmp_path: Path) -> None:
    size = (folder / LOG).stat().st_size
    assert unnoticed(folder, tmp_path, [*range(32), *random.Random(2).sample(range(32, size), 968)]) == []


def test_what_a_failed_commit_has_left_in_the_log_is_not_taken_for_its_end(tmp_path: Path) -> None:
    """A full disk may take the head of a commit's last frame, and refuse its page: behind a shorter commit that follows
    it would look like a commit that was synced.
    """
    log = tmp_path / "data" / "tablewright.db-wal"
    with Engine.open(tmp_path / "data") as engine:
        engine._background.stop()
        create(engine)
        put(engine, "before")
        frames = (log.stat().st_size - 32) // 4120
        disk = Disk(engine)
        disk.refuse("COMMIT")
        with open(log, "r+b") as file:
            file.seek(32 + (frames - 1) * 4120)
            head = file.read(24)
            for behind in range(40):
                file.seek(32 + (frames + behind) * 4120)
                file.write(head + bytes(4096))
        with pytest.raises(InternalServerError):
            put(engine, "refused")
        disk.recover()
        put(engine, "after")
        shutil.copytree(tmp_path / "data", tmp_path / "killed")
    with Engine.open(tmp_path / "killed") as engine:
        assert keys(engine) == {"before", "after"}
        assert engine.verify().ok
