from .arrivals import arrivals_per_unit as arrivals_per_unit
from .arrivals import fractional_gaussian_noise as fractional_gaussian_noise
from .hurst_parameter import Hurst as Hurst
from .hurst_parameter import hurst as hurst
from .of_log import LongRangeDependence as LongRangeDependence
from .of_log import hurst_of as hurst_of
