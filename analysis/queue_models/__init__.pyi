from .cross_check.checking import crosscheck as crosscheck
from .cross_check.everything import CrossCheckOfAll as CrossCheckOfAll
from .cross_check.everything import crosscheck_all as crosscheck_all
from .cross_check.others import judge_schedules as judge_schedules
from .cross_check.others import write_crosscheck as write_crosscheck
from .cross_check.result import CrossCheck as CrossCheck
from .from_trace import QueueingOfLog as QueueingOfLog
from .from_trace import queueing_from_trace as queueing_from_trace
