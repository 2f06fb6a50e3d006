"""Orders of the queue by number, as the passes of a schedule are made again."""

#: By a place that each job has for good, or found again in each pass.
BY_PLACE, BY_WFP3, BY_UNICEF, BY_WORTH = range(4)

#: Places of what came of it: passes, those that differ, and of the first of these the second, the
#: job that waits, the one that starts, the one with the reservation, and for when it is.
PASSES, DIFFERING, NOW, WAITS, STARTS, HEAD, SHADOW = range(7)
