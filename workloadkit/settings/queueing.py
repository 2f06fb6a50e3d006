"""The settings of `workloadkit queueing` and `crosscheck`, common to all models."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from workloadkit.errors import ParameterError, check_count, quoted
from workloadkit.settings.common import Seed, a_share
from workloadkit.settings.setting import Setting, Settings


def _shares(name: str, value: Any) -> None:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ParameterError(name, f"is {quoted(value)}; give a list of shares")
    for share in value:
        a_share(name, share)


@dataclass(frozen=True, kw_only=True)
class Queueing(Settings):
    """The settings of solving a queueing model."""

    quantiles: Annotated[
        Sequence[float],
        Setting(
            help="Quantile of the response times to show, from 0 to 1; repeat for several. By "
            "default 0.5, 0.9 and 0.99.",
            option="--quantile",
            metavar="Q",
            check=_shares,
            recorded="always",
        ),
    ] = (0.5, 0.9, 0.99)


@dataclass(frozen=True, kw_only=True)
class Crosscheck(Queueing):
    """The settings of `crosscheck`."""

    runs: Annotated[
        int,
        Setting(
            help="Number of simulation runs.",
            metavar="R",
            check=partial(check_count, least=2),
            recorded="always",
        ),
    ] = 30
    jobs: Annotated[
        int,
        Setting(
            help="Jobs of each run, including its warm-up.",
            metavar="J",
            check=partial(check_count, least=100),
            recorded="always",
        ),
    ] = 50_000
    rng: Seed = None
