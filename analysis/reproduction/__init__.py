"""Compare the claims of publications with logs and simulations: claims, readings, verdicts."""

from analysis.reproduction.claims import (
    MARGIN,
    Claim,
    Kind,
    Result,
    Verdict,
    above,
    at_least,
    at_most,
    below,
    between,
    printed,
)
from analysis.reproduction.drawings import plot_by_group
from analysis.reproduction.fairness import FAIRNESS, FAIRNESS_MEASURES, Measure
from analysis.reproduction.findings import Findings, scorecard
from analysis.reproduction.logs import ALL_LOGS, Log, data_folder, find_logs, read_table
from analysis.reproduction.readings import Axis, Reading, choose
from analysis.reproduction.reference import differences, kept_findings, reference_of
from analysis.reproduction.running import Together, run_study
from analysis.reproduction.runs import Part, percent_more, runs_of_logs, sizes_of_parts
from analysis.reproduction.search import Ranking, ReadingFit, search
from analysis.reproduction.study import Drawing, Each, Plan, Study

__all__ = [
    "ALL_LOGS",
    "FAIRNESS",
    "FAIRNESS_MEASURES",
    "MARGIN",
    "Axis",
    "Claim",
    "Drawing",
    "Each",
    "Findings",
    "Kind",
    "Log",
    "Measure",
    "Part",
    "Plan",
    "Ranking",
    "Reading",
    "ReadingFit",
    "Result",
    "Study",
    "Together",
    "Verdict",
    "above",
    "at_least",
    "at_most",
    "below",
    "between",
    "choose",
    "data_folder",
    "differences",
    "find_logs",
    "kept_findings",
    "percent_more",
    "plot_by_group",
    "printed",
    "read_table",
    "reference_of",
    "run_study",
    "runs_of_logs",
    "scorecard",
    "search",
    "sizes_of_parts",
]
