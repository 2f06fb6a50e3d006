"""One axis of a figure that is described: its scale, limits and ticks.

Limits follow matplotlib's rules, and ticks come from its locators and formatters. Methods have the
names and the meaning of those of matplotlib's axes, which describe them.
"""

# ruff: noqa: D102

from collections.abc import Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.scale import scale_factory
from numpy.typing import NDArray

from workloadkit.analysis.chart import Scale
from workloadkit.analysis.formats import printable

LONGEST_TEXT = 100  # characters
_LETTER = 10  # size of the labels of ticks


class Axis:
    """One of the two axes; those of panels that share it have one `state`."""

    def __init__(self, axes: Any, name: str, state: SimpleNamespace | None = None) -> None:
        self.axes, self.axis_name, self.__name__ = axes, name, f"{name}axis"
        self.label, self.grid, self.labelled = "", True, True
        fresh = SimpleNamespace(
            low=np.inf, high=-np.inf, least=np.inf, view=(0.0, 1.0), margin=0.05,
            is_automatic=True, is_stale=False, sticky=[], names={},
        )  # fmt: skip
        self.state = state or fresh
        if not state:
            self._scale("linear")

    # What locators and formatters read

    def get_view_interval(self) -> tuple[float, float]:
        for axis in (self.axes.xaxis, self.axes.yaxis):  # as matplotlib, both at once
            if axis.state.is_stale:
                axis.fit()
        view: tuple[float, float] = self.state.view
        return view

    def get_data_interval(self) -> tuple[float, float]:
        return self.state.low, self.state.high

    def get_minpos(self) -> float:
        least: float = self.state.least
        return least

    def get_scale(self) -> str:
        return str(self.state.scale.name)

    def get_transform(self) -> Any:
        return self.state.scale.get_transform()

    def get_inverted(self) -> bool:
        low, high = self.get_view_interval()
        return bool(high < low)

    def get_tick_space(self) -> int:
        """Return for how many labels there is room."""
        wide, high = self.axes.size
        return int(wide // (3 * _LETTER) if self.axis_name == "x" else high // (2 * _LETTER))

    def _get_shared_axis(self) -> "list[Axis]":
        return [self]

    # What plot functions call

    def set_major_locator(self, locator: Any, name: str = "locator") -> None:
        locator.set_axis(self)
        setattr(self.state, name, locator)

    def set_minor_locator(self, locator: Any) -> None:
        self.set_major_locator(locator, "minor_locator")

    def set_major_formatter(self, form: Any, name: str = "formatter") -> None:
        if isinstance(form, str):
            form = ticker.StrMethodFormatter(form)
        form = form if isinstance(form, ticker.Formatter) else ticker.FuncFormatter(form)
        self.set_major_locator(form, name)

    def set_minor_formatter(self, form: Any) -> None:
        self.set_major_formatter(form, "minor_formatter")

    def get_major_formatter(self) -> Any:
        return self.state.formatter

    def get_majorticklocs(self) -> NDArray[Any]:
        return np.asarray(self.state.locator())

    def set_label_text(self, text: str, **_: Any) -> None:
        self.label = text

    def get_label_text(self) -> str:
        return self.label

    def set_ticks(
        self, places: Any, labels: Sequence[str] | None = None, *, minor: bool = False, **_: Any
    ) -> None:
        places = self.numbers(places)
        if places.size:  # all of them are shown
            low, high = sorted(self.get_view_interval())
            ends = min(low, places.min()), max(high, places.max())
            self.state.view = tuple(sorted(ends, reverse=self.get_inverted()))
        self.set_major_locator(ticker.FixedLocator(places), "minor_locator" if minor else "locator")
        if labels is not None:
            form = ticker.FixedFormatter(list(map(str, labels)))
            self.set_major_formatter(form, "minor_formatter" if minor else "formatter")

    def set_scale(self, name: str, **options: Any) -> None:
        before = self.state.locator.nonsingular(-np.inf, np.inf)
        self._scale(name, **options)
        if self.state.is_automatic and self.state.locator.nonsingular(-np.inf, np.inf) != before:
            self.fit()

    def set_lim(self, low: Any = None, high: Any = None, **ends: Any) -> None:
        """Set one end or both, which may be given as a pair or by their names."""
        if isinstance(low, tuple | list):
            low, high = low
        low = ends.get("left", ends.get("bottom", low))
        high = ends.get("right", ends.get("top", high))
        old_low, old_high = self.get_view_interval()
        low = old_low if low is None else float(self.numbers(low))
        high = old_high if high is None else float(self.numbers(high))
        self._set_view(low, high)
        self.state.is_automatic = False

    def numbers(self, values: Any) -> NDArray[np.float64]:
        """Return values as places on the axis, copied; texts are named places, in order."""
        if isinstance(values, np.ma.MaskedArray):
            values = np.ma.filled(values.astype(np.float64), np.nan)
        column = np.asarray(values)
        if column.dtype.kind == "M":
            return self._dates(column)
        with suppress(ValueError):
            return column.astype(np.float64)
        names = self.state.names
        places = [names.setdefault(str(name), len(names)) for name in column.tolist()]
        self.set_major_locator(ticker.FixedLocator([*names.values()]))
        self.set_major_formatter(ticker.FixedFormatter([*names]))
        return np.array(places, dtype=np.float64)

    def _dates(self, values: NDArray[Any]) -> NDArray[np.float64]:
        from matplotlib.dates import AutoDateFormatter, AutoDateLocator, date2num

        if isinstance(self.state.locator, ticker.AutoLocator):
            self.set_major_locator(locator := AutoDateLocator())
            self.set_major_formatter(AutoDateFormatter(locator))
        return np.asarray(date2num(values))

    # Limits

    def add(self, values: NDArray[np.float64]) -> None:
        """Count values in the limits."""
        state, values = self.state, values[np.isfinite(values)]
        state.low = float(values.min(initial=state.low))
        state.high = float(values.max(initial=state.high))
        state.least = float(values[values > 0].min(initial=state.least))

    def request_fit(self) -> None:
        self.state.is_stale = self.state.is_automatic

    def _set_view(self, low: float, high: float) -> None:
        ends = self.state.locator.nonsingular(low, high)
        ends = self.state.scale.limit_range_for_scale(*ends, self.state.least)
        self.state.view = tuple(map(float, sorted(ends, reverse=bool(low > high))))
        self.state.is_stale = False

    def invert(self) -> None:
        low, high = self.get_view_interval()
        self._set_view(high, low)

    def _scale(self, name: str, **options: Any) -> None:
        axis: Any = self
        self.state.scale = scale_factory(name, axis, **options)
        self.state.scale.set_default_locators_and_formatters(self)

    def fit(self) -> None:
        """Choose limits by the data: with a margin, which ends at the base of bars."""
        state, sticky = self.state, np.sort(self.state.sticky)
        state.is_stale = False
        low, high = (state.low, state.high) if state.low <= state.high else (-np.inf, np.inf)
        if low == -np.inf and state.view != (0, 1):  # no data, but limits
            return
        low, high = state.locator.nonsingular(low, high)
        if self.get_scale() == "log":
            sticky = sticky[sticky > 0]
        near, sticky = 1e-5 * abs(high - low), sticky[: sticky.size if state.margin else 0]
        before, after = sticky[sticky < low + near][-1:], sticky[sticky >= high - near][:1]
        low, high = state.scale.limit_range_for_scale(low, high, state.least)
        transform = self.get_transform()
        first, last = transform.transform([low, high])
        room = np.nan_to_num((last - first) * state.margin, posinf=0)
        low, high = transform.inverted().transform([first - room, last + room])
        ends = state.locator.view_limits(max([low, *before]), min([high, *after]))
        self._set_view(*sorted(ends, reverse=bool(state.view[0] > state.view[1])))

    def described(self) -> Scale:
        """Return the description."""
        state, name = self.state, self.get_scale()
        low, high = map(float, self.get_view_interval())
        ticks = _labels(state.locator(), state.formatter, low, high)
        between: tuple[tuple[float, str], ...] = ()
        if not isinstance(state.minor_formatter, ticker.NullFormatter):
            places = np.asarray(state.minor_locator(), dtype=np.float64)
            known = np.array([place for place, _ in ticks])
            near = np.isclose(places[:, None], known, rtol=0, atol=1e-5 * abs(high - low))
            between = _labels(places[~near.any(axis=1)], state.minor_formatter, low, high)
        named = isinstance(state.formatter, ticker.FixedFormatter)
        return Scale(
            printable(f"{self.label} {state.formatter.get_offset()}".strip(), LONGEST_TEXT),
            low,
            high,
            "names" if named else getattr(state.formatter, "form", "number"),
            name == "log",
            self.get_transform().linthresh if name == "symlog" else 0.0,
            ticks,
            self.grid,
            self.labelled,
            tuple((place, text) for place, text in between if text),
        )


def _labels(places: Any, formatter: Any, low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Return the ticks within an axis, with their labels."""
    first, last = sorted((low, high))
    slack = 1e-9 * (last - first)
    return tuple(
        (float(place), printable(str(text), LONGEST_TEXT))
        for place, text in zip(places, formatter.format_ticks(places), strict=True)
        if first - slack <= place <= last + slack
    )
