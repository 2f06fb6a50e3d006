"""Do everything once with good files, so that no case pays for compiling and importing."""

import tempfile
import warnings
from collections import Counter
from pathlib import Path
from random import Random

import workloadkit as wk
from tests.fuzz import promises, stages
from tests.fuzz.formats import FORMATS


def warm_up() -> None:
    """Put good files of every format through all stages; whatever fails here is a fault."""
    rng = Random(0)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        folder = Path(scratch)
        for name, fmt in FORMATS.items():
            for number in range(3):
                data = fmt.good(Random(number))
                options = fmt.options(rng) | ({"strict": False} if name == "swf" else {})
                result = fmt.read(data, options, folder)
                stages.check(name, data, options, result, folder)
                if isinstance(result, wk.Trace):
                    promises.of_writing(result, folder, anonymous=bool(options.get("anonymize")))
                for _ in range(2):
                    stages.use(result, rng, Counter(), folder)
            if name == "swf":
                stages.characterize(result)
