"""The entries of a certificate that can be played again."""

from collections.abc import Iterable, Mapping
from typing import Any

from workloadkit.benchmark.entries import Entry
from workloadkit.errors import ParameterError, among, quoted
from workloadkit.experiments.custom_parts import meta_scheduler_named, scheduler_named


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
