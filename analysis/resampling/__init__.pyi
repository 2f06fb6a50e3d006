from .measures import UnitComparison as UnitComparison
from .measures import compare_units as compare_units
from .validation import ResamplingValidation as ResamplingValidation
from .validation import validate_resampling as validate_resampling
