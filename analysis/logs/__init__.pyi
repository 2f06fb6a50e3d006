from .changes import plot_days as plot_days
from .comparison import LogComparison as LogComparison
from .comparison import compare as compare
from .distributions import plot_measures as plot_measures
from .distributions import plot_overlaid as plot_overlaid
from .report import ComparisonReport as ComparisonReport
from .report import compare_two as compare_two
