"""Cut every change of an act, in several games side by side, and count how the plays ended."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from tests.storage.game import Game
from tests.storage.playing import FAULTS, Undisturbed, play, undisturbed

ACTS = ("ingest", "journal", "pieces", "rows", "backup", "restore")
HOLDING = ("rows", "backup", "restore")
WORDS = ("refused", "waited", "died", "went on")
"""How a play ended: the client got a reason, the job waits with one, or had to wait until the disk
was mended, the process was killed, or nobody noticed the fault."""
HEAD = (
    f"| act | changes | cut | {' | '.join(WORDS)} | wrong |\n| --- |{' ---: |' * (len(WORDS) + 3)}"
)

Case = tuple[int, str]


@dataclass
class Figures:
    """How often an act was cut, how that ended, and what was wrong, by the place of the cut."""

    act: str
    changes: int
    faults: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, list[str]] = field(default_factory=dict)

    def row(self) -> str:
        """Return the figures as a row of a table, of which ``HEAD`` is the head."""
        counts = [self.changes, self.faults.total(), *(self.words[word] for word in WORDS)]
        return f"| {self.act} | {' | '.join(map(str, counts))} | {len(self.wrong)} |"


def prepared(game: Game, act: str) -> Undisturbed:
    """Make the installation in which an act is played, and play it undisturbed."""
    game.empty()
    made = game.act("prepare", holding=act in HOLDING)
    [[token]] = made.told("token")
    if act == "restore":
        assert game.act("backup", token=token, so_far=[]).told("accepted")
        game.empty()
    game.keep()
    return undisturbed(game, act, token=token)


@contextmanager
def several(folder: Path, count: int) -> Iterator[list[Game]]:
    """Provide games, each on a disk of its own. They start together."""
    with ExitStack() as stack:
        games = [Game(folder / f"game-{number}") for number in range(count)]
        with ThreadPoolExecutor(count) as pool:
            started = list(pool.map(stack.enter_context, games))
        yield started


def cut_all(
    games: Sequence[Game],
    act: str,
    turns: Iterable[int],
    tell: Callable[[str], None] = lambda line: None,
) -> Figures:
    """Let each change of an act meet one fault in each turn; in all turns it meets each fault."""
    with ThreadPoolExecutor(len(games)) as pool:
        sounds = list(pool.map(lambda game: prepared(game, act), games))
        figures = Figures(act, len(sounds[0].changes))
        cases, lock = _cases(figures.changes, turns), Lock()

        def share(game: Game, sound: Undisturbed) -> None:
            while case := _next(cases, lock):
                outcome, where = play(game, sound, *case), _place(sound, *case)
                with lock:
                    figures.faults[case[1]] += 1
                    figures.words[outcome.word] += 1
                    if outcome.wrong:
                        figures.wrong[where] = outcome.wrong
                tell(f"{where}: {outcome.word} {outcome.wrong or ''}")

        try:
            list(pool.map(share, games, sounds))
        finally:  # also where one game fails, or somebody ends the program
            with lock:
                deque(cases, maxlen=0)
    return figures


def _cases(changes: int, turns: Iterable[int]) -> Iterator[Case]:
    for turn in turns:
        for at in range(1, changes + 1):
            yield at, FAULTS[(at + turn) % len(FAULTS)]


def _next(cases: Iterator[Case], lock: Lock) -> Case | None:
    with lock:
        return next(cases, None)


def _place(sound: Undisturbed, at: int, fault: str) -> str:
    kind, path = sound.changes[at - 1] if at <= len(sound.changes) else ("after", "the last change")
    return f"{sound.act} {at} {fault}: {kind} {path}"
