from .report import Characterization as Characterization
from .report import characterize as characterize
from .section import Figure as Figure
from .section import Section as Section
from .section import Table as Table
