"""Write docs/settings.md: the settings of all operations, as the code declares them."""

import sys
from pathlib import Path

from workloadkit import settings
from workloadkit.settings.setting import Declared, Settings, settings_of

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"

OPERATIONS: tuple[tuple[str, str, type[Settings]], ...] = (
    ("wk.simulate", "simulate", settings.Simulate),
    ("wk.check_schedule", "check", settings.Check),
    ("wk.Experiment", "", settings.Experiment),
    ("wk.sweep", "sweep", settings.Sweep),
    ("wk.resample", "resample", settings.Resample),
    ("wk.classify_users", "", settings.Classify),
    ("wk.users.DynamicSite", "site", settings.Site),
    ("wk.users.StaticSite", "site --sessions", settings.StaticSite),
    ("wk.site.site_distributions", "site", settings.Kinds),
    ("wk.add_utility", "augment", settings.Augment),
    ("wk.models", "generate", settings.Generate),
    ("queueing", "queueing", settings.Queueing),
    ("analysis.crosscheck", "crosscheck", settings.Crosscheck),
)

HEAD = """# Settings

What can be set, operation by operation. A name is a keyword in Python and, with dashes, an option
of the command; where the option has another name the table says so, and *Python only* where there
is none. All settings of an operation may also be given as one object:

```python
import workloadkit as wk

asked = wk.settings.Simulate(overrun="kill", warmup=7 * 86400)
schedule = wk.simulate(wk.load_sample(), "easy", settings=asked)
```

The last column tells when results and the headers of logs record a setting: *always*, where it is
*changed* from its default, or *never*, as it makes no difference or is recorded otherwise.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *map(_section, OPERATIONS)])


def _section(operation: tuple[str, str, type[Settings]]) -> str:
    function, command, cls = operation
    names = f"`{function}`" + (f", `workloadkit {command}`" if command else "")
    rows = [
        f"## {cls.__name__}",
        "",
        f"Of {names}; one object: `wk.settings.{cls.__name__}`.",
        "",
        "| setting | may be | default | meaning | recorded |",
        "| --- | --- | --- | --- | --- |",
        *(_row(declared) for declared in settings_of(cls).values()),
        "",
    ]
    return "\n".join(rows)


def _row(declared: Declared) -> str:
    setting = declared.setting
    name = f"`{declared.name}`"
    if setting.option is None:
        name += "<br>Python only"
    elif setting.option:
        name += f"<br>`{setting.option}`"
    unit = f" [{setting.unit}]" if setting.unit else ""
    default = "" if declared.default in (None, ()) else f"`{declared.default!r}`"
    meaning = " ".join(filter(None, (setting.help, setting.more)))
    if setting.goes_with:
        meaning += f" Goes with `{setting.goes_with}`."
    cells = (name, declared.kind + unit, default, meaning, setting.recorded)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}", file=sys.stderr)
