"""Parts of the reference that are made from the code, so that they cannot differ from it."""

from workloadkit import settings
from workloadkit.settings.setting import Declared, Settings, settings_of

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


def fragments() -> dict[str, str]:
    """Text of each generated file, by its name; pages in docs/reference include them."""
    return {"settings": "\n".join(map(_section, OPERATIONS))}


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
