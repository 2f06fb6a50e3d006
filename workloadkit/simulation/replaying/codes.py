"""Places in the arrays of a replay, and codes of orders."""

#: After all seconds.
LATEST = 2**62

#: The place among the starts of a job that has left the queue without one.
LEFT = -2

#: Orders by a constant place of each job, or computed again in each pass.
BY_PLACE, BY_WFP3, BY_UNICEF, BY_WORTH, BY_LOAD, BY_RECENCY = range(6)

#: Reservations are made again in each pass, or kept and, after early ends, all, some or none moved.
MADE_AGAIN, FULL, START, NONE = range(4)

#: Places of counts: waiting, running and started jobs, jobs chosen by a pass; free processors;
#: steps of the plan; the job with the first reservation. Whether jobs have ended since the last
#: pass, whether reservations may move to earlier slots, whether they are void; and whether
#: something that the schedule does not contain decides this instant.
N_WAITING, N_RUNNING, N_STARTED, N_CHOSEN, FREE, N_STEPS = range(6)
HEAD, ENDED, ROOM, VOID, UNCLEAR = range(6, 11)

#: Of jobs that were cancelled while they waited: those started by the policy, and those that have
#: ended.
N_BRIEF, N_BRIEF_ENDED = range(11, 13)

#: Places of times: begin of the first reservation, and of the next one.
SHADOW, TIMER = range(2)

#: Places of results: passes; instants that differ, and those among them that are undetermined; of
#: the first that differs, the job that waits, the one that starts, and the one with the first
#: reservation.
PASSES, DIFFERING, UNTOLD, WAITS, STARTS, RESERVED = range(6)

#: Places of resulting times: that instant; begin of that reservation; and the time from which kept
#: reservations are undetermined.
NOW, FOR, UNTIL = range(3)
