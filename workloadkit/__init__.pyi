from .errors import FormatError as FormatError
from .errors import ParameterError as ParameterError
from .errors import WorkloadError as WorkloadError
from .errors import WorkloadWarning as WorkloadWarning
from .experiments import Sweep as Sweep
from .experiments import sweep as sweep
from .io.outages import Outage as Outage
from .io.outages import Outages as Outages
from .io.outages import read_outages as read_outages
from .io.outages import write_outages as write_outages
from .io.swf import read_swf as read_swf
from .io.swf import write_swf as write_swf
from .sample import load_sample as load_sample
from .sessions import delimit_sessions as delimit_sessions
from .sessions import think_times as think_times
from .simulate import schedulers as schedulers
from .simulate import users as users
from .simulate.check import check_schedule as check_schedule
from .simulate.schedule import Schedule as Schedule
from .simulate.simulate import simulate as simulate
from .trace import Header as Header
from .trace import Trace as Trace
from .user_classes import UserClasses as UserClasses
from .user_classes import classify_users as classify_users

__version__: str
