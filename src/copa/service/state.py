"""State of a running service: its planner, planners for wishes, and the threads that plan."""

import io
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.threads import Stoppable, stop_if_interrupted
from copa.data.tables.cells import alone
from copa.exceptions import InvalidInputError
from copa.planner import RecoursePlanner, Wishes
from copa.planner.bundle import Bundle, load_bundle
from copa.plans.document import DocumentWriter, terms_entry
from copa.service.answers import PlanAnswer, card_entries, entries_of, error_entry, to_json
from copa.service.problems import invalid
from copa.service.rows import RowReader
from copa.service.settings import ServiceSettings

if TYPE_CHECKING:
    from copa.plans import PlanBatch
    from copa.promises import Ledger

MOST_PLANNERS = 256  # for wishes, that are kept
FEW = 4  # applicants of a request that is planned together with others
MOST_AT_ONCE = 64  # requests that are planned together
SHARE = 0.8  # of the time limit of a request that the search may take
# One thread for each: a plan keeps a core busy, and more cores are for more workers. A small request does not wait for
# a large one, and nobody who plans or records waits while the whole ledger is read.
TOGETHER, SINGLE, LEDGER = THREADS = ("together", "single", "ledger")


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """Applicants of one request.

    Attributes
    ----------
    applicants : sequence of mapping
        As JSON has them.
    cards, certificates : bool
        Whether to add to each plan what `cards.js` draws, and a document with proofs.
    """

    applicants: Sequence[Mapping[str, Any]]
    cards: bool = False
    certificates: bool = False


class Job:
    """Work of a request on a thread, alone or together with other requests.

    Parameters
    ----------
    result : Future
        Result for this request.
    """

    def __init__(self, result: "Future[Any]") -> None:
        self.result, self.is_wanted = result, True
        self._work: Stoppable[Any] | None = None
        self._company: Sequence[Job] = ()

    def begin(self, work: "Stoppable[Any]", company: "Sequence[Job]") -> None:
        """Set the work that makes the result, and the jobs that it is for."""
        self._company, self._work = company, work
        self._stop_unwanted()

    def stop(self) -> None:
        """Give the result up: the work ends once all of its jobs are given up."""
        self.is_wanted = False
        self._stop_unwanted()

    def _stop_unwanted(self) -> None:
        if self._work is not None and not any(job.is_wanted for job in self._company):
            self._work.stop()


class Service:
    """A planner, and the threads that plan with it.

    Parameters
    ----------
    bundle : Bundle
    settings : ServiceSettings
    """

    def __init__(self, bundle: Bundle, settings: ServiceSettings) -> None:
        self.bundle, self.settings = bundle, settings
        self.reader = RowReader(bundle.template)
        self.planner = copy(bundle.planner)  # the caller's own stays as it is
        self.planner.n_jobs, self.planner.progress = 1, False
        self.planner.time_limit = SHARE * settings.time_limit
        self._planners: OrderedDict[Wishes, RecoursePlanner] = OrderedDict()
        self._waiting: dict[Wishes, list[tuple[Job, PlanRequest]]] = {}
        self._lock = threading.Lock()
        people = settings.applicants
        self.names = {} if people is None else {alone(label): i for i, label in enumerate(people.index)}
        self._threads = {name: ThreadPoolExecutor(1, f"copa-{name}") for name in THREADS}
        self.ledger = None if settings.ledger is None else _open_ledger(settings.ledger)

    @classmethod
    def of(cls, source: "Bundle | RecoursePlanner | str | Path", settings: ServiceSettings | None) -> "Service":
        """Make a service for a bundle, its file, or a fitted planner."""
        if isinstance(source, (str, Path)):
            source = load_bundle(Path(source))
        if isinstance(source, RecoursePlanner):
            source = Bundle(source, source.template_, {}, {}, "")
        return cls(source, ServiceSettings() if settings is None else settings)

    def close(self) -> None:
        """Finish what is under way, and end the threads."""
        for threads in self._threads.values():
            threads.shutdown()
        if self.ledger is not None:
            self.ledger.close()

    @property
    def model_version(self) -> str:
        """What promises call the model unless a request says it."""
        return self.settings.model_version or self.bundle.sha256[:12] or "unnamed"

    def asking(self, wishes: Wishes) -> RecoursePlanner:
        """Return the planner for wishes; one that was asked for before is the same."""
        with self._lock:
            known = self._planners.get(wishes)
            if known is not None:
                self._planners.move_to_end(wishes)
                return known
        wishes.require_within(self.planner.schema_)
        made = self.planner.with_wishes(wishes)
        with self._lock:
            self._planners[wishes] = made
            while len(self._planners) > MOST_PLANNERS:
                self._planners.popitem(last=False)
        return made

    def wishes(self, given: Mapping[str, Any]) -> Wishes:
        """Return the wishes of a request, or raise the problem with one of them."""
        try:
            wishes = Wishes(**given)
            self.asking(wishes)
        except InvalidInputError as error:
            for name, value in given.items():
                try:
                    self.asking(Wishes(**{name: value}))
                except InvalidInputError as wrong:
                    raise invalid(f"/{name}", value, wrong) from wrong
            raise invalid("/", given, error) from error
        return wishes

    def plan(self, wishes: Wishes, request: PlanRequest) -> Job:
        """Plan for the applicants of a request; the result is the JSON of the answer."""
        if len(request.applicants) > FEW:
            return self.call(lambda: self._plan(wishes, [request])[0])
        job = Job(Future())
        with self._lock:
            self._waiting.setdefault(wishes, []).append((job, request))
        self._threads[TOGETHER].submit(self._plan_waiting, wishes)
        return job

    def call(self, work: Callable[[], Any], thread: str = SINGLE) -> Job:
        """Do other work on a thread, in its turn."""
        call = Stoppable(work)
        job = Job(self._threads[thread].submit(call))
        job.begin(call, [job])
        return job

    def _plan_waiting(self, wishes: Wishes) -> None:
        """Plan together what waits with the same wishes: each of sixteen takes a ninth of the time of one alone."""
        with self._lock:
            waiting = self._waiting.pop(wishes, [])
            if waiting[MOST_AT_ONCE:]:
                self._waiting[wishes] = waiting[MOST_AT_ONCE:]  # each has a turn of its own to come
        begun = [(job, request) for job, request in waiting[:MOST_AT_ONCE] if job.result.set_running_or_notify_cancel()]
        if not self._answer_together(wishes, begun):
            for one in begun:  # one of them must not fail the others
                self._answer_together(wishes, [one])

    def _answer_together(self, wishes: Wishes, begun: Sequence[tuple[Job, PlanRequest]]) -> bool:
        """Plan for several requests, and return whether each has its result; one alone always has."""
        work = Stoppable(lambda: self._plan(wishes, [request for _, request in begun]))
        jobs = [job for job, _ in begun]
        for job in jobs:
            job.begin(work, jobs)
        try:
            answers = work() if begun else []
        except BaseException as error:  # noqa: BLE001 - whoever asked is told
            if len(begun) == 1:
                jobs[0].result.set_exception(error)
            return len(begun) == 1
        for job, answer in zip(jobs, answers, strict=True):
            job.result.set_result(answer)
        return True

    def _plan(self, wishes: Wishes, requests: Sequence[PlanRequest]) -> list[bytes]:
        """Answer requests with the same wishes; an answer is byte-identical, whatever other requests run."""
        planner = self.asking(wishes)
        rows = [applicant for request in requests for applicant in request.applicants]
        labels = [i for request in requests for i in range(len(request.applicants))]
        tables, messages = self.reader.tables(rows, labels)
        found = {i: Planned(error_entry(labels[i], message)) for i, message in messages.items()}
        terms = None
        for table in tables:
            stop_if_interrupted()
            batch = planner.plan(table.frame)
            terms = terms or terms_entry(batch)
            cards = card_entries(batch) if any(request.cards for request in requests) else [None] * len(batch)
            told = zip(table.positions, entries_of(batch), cards, strict=True)
            found |= {position: Planned(entry, card, batch, k) for k, (position, entry, card) in enumerate(told)}
        terms = terms or terms_entry(planner.plan(self.bundle.template.iloc[:0]))
        planned = iter([found[i] for i in range(len(rows))])
        answers = [_answer(one, list(islice(planned, len(one.applicants))), terms, wishes) for one in requests]
        return [to_json(PlanAnswer.model_validate(answer)) for answer in answers]


def _open_ledger(url: str) -> "Ledger":
    from copa.promises import Ledger  # which needs the packages of the ledger

    return Ledger.open(url)


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan: its entry, its card if one is asked for, and where it is from if a plan was made."""

    entry: dict[str, Any]
    card: dict[str, Any] | None = None
    batch: "PlanBatch | None" = None
    row: int = 0


def _answer(request: PlanRequest, planned: Sequence[Planned], terms: dict[str, Any], wishes: Wishes) -> dict[str, Any]:
    if request.cards:
        for plan in planned:
            plan.entry["card"] = plan.card
    answer = {"plans": [plan.entry for plan in planned], **terms, "wishes": wishes.to_dict()}
    if request.certificates:
        answer["document"] = _document(planned)
    return answer


def _document(planned: Sequence[Planned]) -> Any:
    """Return plans with their proofs, as `/v1/verify` and `copa verify` take them; None where no plan was made."""
    text = io.StringIO()
    writer = DocumentWriter(text, certificates=True)
    made = [plan for plan in planned if plan.batch is not None]
    for plan in made:
        assert plan.batch is not None  # noqa: S101 - just looked at
        writer.add(plan.batch[plan.row : plan.row + 1])
    if not made:
        return None
    writer.close()
    return json.loads(text.getvalue())
