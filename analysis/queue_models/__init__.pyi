from .cross_check.checking import crosscheck as crosscheck
from .cross_check.result import CrossCheck as CrossCheck
from .from_trace import QueueingOfLog as QueueingOfLog
from .from_trace import queueing_from_trace as queueing_from_trace
