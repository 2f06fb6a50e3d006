"""What stands where as the passes of a schedule are made again, and orders by number."""

#: After all seconds.
LATEST = 2**62

#: By a place that each job has for good, or found again in each pass.
BY_PLACE, BY_WFP3, BY_UNICEF, BY_WORTH, BY_LOAD, BY_RECENCY = range(6)

#: Reservations are made again in each pass, or kept and, after early ends, all, some or none moved.
MADE_AGAIN, FULL, START, NONE = range(4)

#: Places of what holds at a moment: jobs that wait, run, have started, are chosen by a pass; free
#: processors; the steps of the plan; the job with the first reservation. Whether jobs have ended
#: since the last pass, whether there may be room that reservations could move into, whether none of
#: them counts; and whether something decides at this instant that the schedule does not tell.
N_WAITING, N_RUNNING, N_STARTED, N_CHOSEN, FREE, N_STEPS = range(6)
HEAD, ENDED, ROOM, VOID, UNCLEAR = range(6, 11)

#: Places of times: for when the first reservation is, and when the next one begins.
SHADOW, TIMER = range(2)

#: Places of what came of it: passes; instants that differ, and that differ where something decides
#: that the schedule does not tell; of the first that differs the job that waits, the one that
#: starts, and the one with the first reservation.
PASSES, DIFFERING, UNTOLD, WAITS, STARTS, RESERVED = range(6)

#: And of times: when that instant is, when the reservation begins; and from when on nothing is told
#: of the reservations that are kept.
NOW, FOR, UNTIL = range(3)
