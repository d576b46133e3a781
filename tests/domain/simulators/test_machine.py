"""The machine that simulated engines share: steps, their effects, and attempts that die."""

from snapshots.domain.simulators.dataflows.machine import StreamMachine
from snapshots.domain.simulators.dataflows.parameters import MOST_EVENTS
from snapshots.domain.simulators.dataflows.tasks import Attempt
from tests.dataflows import a_run_of


class Diary(StreamMachine):
    """A machine that notes each effect with its time; ``begin`` plans its steps."""

    def __init__(self, begin) -> None:
        simulation = a_run_of(most_events=MOST_EVENTS)
        super().__init__(simulation, simulation.topology())
        self.begin = lambda: begin(self)
        self.entries = []

    def do(self, effect):
        self.entries.append((self.queue.now, effect))


def entries(begin):
    diary = Diary(begin)
    assert list(diary.events()) == []
    return diary.entries


def test_an_effect_is_carried_out_before_the_step_goes_on():
    def begin(diary):
        def step():
            yield "first"
            diary.entries.append("between")
            yield "second"

        diary.queue.at(5, step)

    assert entries(begin) == [(5, "first"), "between", (5, "second")]


def test_what_a_dead_attempt_has_planned_does_not_happen():
    def begin(diary):
        owner = Attempt()
        diary.later(owner, 10, lambda: ("before the death",))
        diary.later(owner, 30, lambda: ("after the death",))
        diary.queue.at(20, owner.die)
        diary.queue.at(40, setattr, owner, "alive", True)
        diary.queue.at(41, diary.later, owner, 9, lambda: ("of the next attempt",))

    assert entries(begin) == [(10, "before the death"), (50, "of the next attempt")]


def test_a_message_to_a_task_that_dies_on_the_way_is_lost():
    def begin(diary):
        task = Attempt()
        task.mail, task.busy, task.can_put = [], True, True
        diary.tell(task, print)
        diary.queue.at(diary.plan.control_delay - 1, task.die)
        diary.queue.at(diary.plan.control_delay + 1, lambda: tuple(task.mail) or ("no mail",))

    assert entries(begin) == [(201, "no mail")]
