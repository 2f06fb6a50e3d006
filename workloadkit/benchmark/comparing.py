"""Make the results of a certificate again and compare them: what differs, what is not verified."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workloadkit.benchmark.certificate import metrics_of
from workloadkit.benchmark.entries import KINDS, META_METRICS, Entry
from workloadkit.errors import ParameterError, among, plural, quoted
from workloadkit.experiments.custom_parts import meta_scheduler_named, scheduler_named

#: Relative difference up to which numbers of two machines are equal.
TOLERANCE = 1e-6

_SHOWN = 3  # examples in a message
_LONGEST = 40  # characters of each


def differences(claimed: Mapping[str, Any], made: Mapping[str, Any]) -> list[str]:
    """Return how results that were made again differ from those of a certificate.

    Compared is what was made again: jobs and schedules by their digests, numbers up to
    `TOLERANCE`. `not_verified` returns the rest.

    Parameters
    ----------
    claimed : mapping
        As of `read_certificate`.
    made : mapping
        As of `certificate`, of the same entries and cases or of some of them.

    Examples
    --------
    >>> from workloadkit.benchmark import canonical
    >>> differences(canonical(), canonical() | {"seed": 2})
    ['seed is 2, in the certificate 1999']
    """
    both, found = _Both(claimed, made), list[str]()
    found += [
        f"{name} is {_number(made[name])}, in the certificate {_number(claimed[name])}"
        for name in ("seed", "runs")
        if claimed[name] != made[name]
    ]
    for name, entry in made["entries"].items():
        claim = claimed["entries"].get(name)
        if claim is None:
            found.append(f"{_shown(name)}: is not in the certificate")
        elif any(claim.get(key) != entry.get(key) for key in ("kind", "policy")):
            found.append(f"{_shown(name)}: is {_what(entry)}, in the certificate {_what(claim)}")
    for case, workload in made["workloads"].items():
        claim = claimed["workloads"].get(case)
        if claim is None:
            found.append(f"{case}: is not in the certificate")
        elif workload["digests"] != claim["digests"]:
            found.append(f"{case}: the jobs differ")
        elif _differ(claim["features"], workload["features"]):
            found.append(f"{case}: the features of the jobs differ")
    for place, row in both.made.items():
        if row["entry"] not in claimed["refused"]:
            found += _of_row(_place(place), both.claimed.get(place), row, both.is_whole(place[0]))
    for kind in KINDS:
        if both.kind_is_whole(kind):
            found += _of_rows("score", ("entry", "metric"), *(_scores(x, kind) for x in both.of))
    if both.all_is_whole():
        found += _of_rows("reversals", ("metric", "other"), *(x["reversals"] for x in both.of))
    return found + _of_refused(both)


def not_verified(claimed: Mapping[str, Any], made: Mapping[str, Any]) -> list[str]:
    """Return the parts of a certificate that results made again neither confirm nor refute.

    Parameters
    ----------
    claimed, made : mapping
        As for `differences`.

    Examples
    --------
    >>> from workloadkit.benchmark import canonical
    >>> not_verified(canonical(), canonical())
    []
    """
    both, found = _Both(claimed, made), list[str]()

    def name(what: Callable[[int], str], missing: Sequence[str]) -> None:
        if missing:
            found.append(f"{what(len(missing))}: {_listed(missing)}")

    rows = [_place(place) for place in both.claimed if place not in both.made]
    name(lambda n: f"{plural(n, 'result')}, not made again", rows)
    name(
        lambda n: f"the workloads of {plural(n, 'case')}",
        [case for case in claimed["workloads"] if case not in made["workloads"]],
    )
    name(
        lambda n: f"ranks in {plural(n, 'case')}, where not all entries were played",
        [case for case in claimed["workloads"] if not both.is_whole(case)],
    )
    found += [
        f"scores of {kind}, which depend on all results there"
        for kind in KINDS
        if _scores(claimed, kind) and not both.kind_is_whole(kind)
    ]
    if not both.all_is_whole():
        found.append("the numbers of rank reversals, which depend on all results")
    name(
        lambda n: f"what {plural(n, 'entry is', 'entries are')}",
        [_shown(entry) for entry in claimed["entries"] if entry not in made["entries"]],
    )
    name(
        lambda n: "the source, command or files, which are others here, of",
        [
            _shown(entry)
            for entry, claim in claimed["entries"].items()
            if entry in made["entries"] and claim != made["entries"][entry]
        ],
    )
    name(
        lambda n: f"that {plural(n, 'entry is', 'entries are')} refused",
        [
            _shown(entry)
            for entry, why in claimed["refused"].items()
            if entry not in made["entries"] or _case_of(why) not in made["workloads"]
        ],
    )
    if claimed["workloadkit"] != made["workloadkit"]:
        found.append(
            f"the version of workloadkit, {claimed['workloadkit']}; this is {made['workloadkit']}"
        )
    if "provenance" in claimed:
        found.append("the provenance, which the sha256 of the certificate does not cover")
    return found


class _Both:
    """The rows of a certificate and of results made again, and which parts were made as a whole."""

    def __init__(self, claimed: Mapping[str, Any], made: Mapping[str, Any]) -> None:
        self.of = (claimed, made)
        self.claimed, self.made = (
            {(row["case"], row["entry"]): row for row in x["results"]} for x in self.of
        )
        self._missing = {case for case, _ in self.claimed.keys() ^ self.made.keys()}
        self._missing |= claimed["workloads"].keys() ^ made["workloads"].keys()

    def is_whole(self, case: str) -> bool:
        """Whether all results of a case were made again, and no others."""
        return case not in self._missing

    def kind_is_whole(self, kind: str) -> bool:
        """Whether all results on machines or in metasystems were made again."""
        return not any(_kind_of(case) == kind for case in self._missing)

    def all_is_whole(self) -> bool:
        """Whether all results were made again."""
        return not self._missing


def _kind_of(case: str) -> str:
    return KINDS[metrics_of(case) == META_METRICS]


def _scores(content: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    return [row for row in content["scores"] if row["kind"] == kind]


def _of_row(
    place: str, claim: Mapping[str, Any] | None, row: Mapping[str, Any], with_ranks: bool
) -> list[str]:
    """Return how the row of a case and entry differs; ranks depend on the other entries."""
    if claim is None:
        return [f"{place}: is not in the certificate"]
    if claim["schedules"] != row["schedules"]:
        return [f"{place}: the schedules differ"]
    found = []
    for name in metrics_of(row["case"]):
        pairs = zip(_OF_METRIC, claim.get(name, ()), row[name], strict=False)
        for word, ours, made in [*pairs][: None if with_ranks else 3]:
            if _differ(ours, made):
                values = f"{_number(made)}, in the certificate {_number(ours)}"
                found.append(f"{place}: {name}{word} is {values}")
    return found


_OF_METRIC = ("", ", low end,", ", high end,", ", best rank,", ", worst rank,")


def _of_rows(
    what: str,
    keys: Sequence[str],
    claimed: Iterable[Mapping[str, Any]],
    made: Iterable[Mapping[str, Any]],
) -> list[str]:
    """Return how rows with these keys differ."""
    ours, theirs = ({tuple(row[key] for key in keys): row for row in x} for x in (claimed, made))
    found = []
    for place in {**theirs, **ours}:
        shown = f"{what} of {_place(place)}"
        claim, row = ours.get(place), theirs.get(place)
        if claim is None or row is None:
            found.append(f"{shown}: is {'not' if claim is None else 'only'} in the certificate")
        else:
            found += [
                f"{shown}: {key} is {_number(row[key])}, in the certificate {_number(claim[key])}"
                for key in row
                if _differ(claim[key], row[key])
            ]
    return found


def _of_refused(both: _Both) -> list[str]:
    """Return how the entries that are refused differ, and the reasons."""
    claimed, made = both.of
    found = []
    for name, why in made["refused"].items():
        if name not in claimed["refused"]:
            found.append(f"{_shown(name)}: is refused: {quoted(why, 200)}")
    for name, why in claimed["refused"].items():
        ours = made["refused"].get(name)
        if name in made["entries"] and _case_of(why) in made["workloads"] and ours != why:
            is_ = "is not refused" if ours is None else f"is refused: {quoted(ours)}"
            found.append(f"{_shown(name)}: {is_}, in the certificate {quoted(why)}")
    return found


def _case_of(why: str) -> str:
    """Return the case in which an entry was refused."""
    return why.partition(",")[0]


def _differ(claimed: Any, made: Any) -> bool:
    if isinstance(claimed, Mapping) and isinstance(made, Mapping):
        return claimed.keys() != made.keys() or any(_differ(claimed[x], made[x]) for x in made)
    if isinstance(claimed, int | float) and isinstance(made, int | float):
        return not abs(made - claimed) <= TOLERANCE * max(abs(claimed), 1)
    return bool(claimed != made)


def _what(entry: Mapping[str, Any]) -> str:
    return " ".join(_shown(str(entry[key])) for key in ("kind", "policy") if key in entry)


def _number(value: Any) -> str:
    """Return a number with the digits that certificates have; other values as they are."""
    return f"{value:.8g}" if isinstance(value, int | float) else str(value)


def _place(names: Iterable[str]) -> str:
    return ", ".join(map(_shown, names))


def _shown(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _listed(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    more = len(names) - _SHOWN
    return "; ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


# The entries of a certificate that can be played again.


def entries_of(
    certificate: Mapping[str, Any], given: Iterable[Entry] = (), *, trust: bool = False
) -> list[Entry]:
    """Return the entries of a certificate that can be played again.

    Parameters
    ----------
    certificate : mapping
        As of `read_certificate`.
    given : iterable of Entry
        Its processes and schedules: commands and folders that a certificate names are not used.
    trust : bool, default False
        Whether custom policies take part. To import them runs code that the certificate chooses.

    Raises
    ------
    ParameterError
        If the certificate has no entry of a given name.

    Examples
    --------
    >>> from workloadkit.benchmark import canonical
    >>> entries_of(canonical())[0]
    Entry(name='fcfs', kind='policy', what='fcfs')
    """
    by_name = {entry.name: entry for entry in given}
    claimed = certificate["entries"]
    for name in by_name:
        if name not in claimed:
            raise ParameterError(
                f"the certificate has no entry {quoted(name)}; {among(name, [*claimed][:9])}"
            )
    found = []
    for name, claim in claimed.items():
        kind, policy = claim["kind"], claim.get("policy")
        if name in by_name:
            found.append(by_name[name])
        elif "source" in claim and trust:
            named = scheduler_named if kind == "policy" else meta_scheduler_named
            found.append(Entry(name, kind, named(policy)))
        elif policy is not None and "source" not in claim:
            found.append(Entry(name, kind, policy))
    return found
