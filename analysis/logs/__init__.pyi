from .comparison import LogComparison as LogComparison
from .comparison import compare as compare
from .plots import plot_measures as plot_measures
from .plots import plot_overlaid as plot_overlaid
