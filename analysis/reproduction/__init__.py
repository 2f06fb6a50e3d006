"""Compare the claims of publications with logs and simulations: claims, readings, verdicts."""

from workloadkit.analysis.reproduction.claims import (
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
from workloadkit.analysis.reproduction.drawings import plot_by_group
from workloadkit.analysis.reproduction.fairness import FAIRNESS, FAIRNESS_MEASURES, Measure
from workloadkit.analysis.reproduction.findings import Findings, scorecard
from workloadkit.analysis.reproduction.logs import ALL_LOGS, Log, data_folder, find_logs, read_table
from workloadkit.analysis.reproduction.readings import Axis, Reading, choose
from workloadkit.analysis.reproduction.reference import differences, kept_findings, reference_of
from workloadkit.analysis.reproduction.running import Together, run_study
from workloadkit.analysis.reproduction.runs import Part, percent_more, runs_of_logs, sizes_of_parts
from workloadkit.analysis.reproduction.search import Ranking, ReadingFit, search
from workloadkit.analysis.reproduction.study import Drawing, Each, Plan, Study

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
