"""The schedulers, as the help of commands lists them."""

#: The names with their parameters and defaults, and what they do, within 76 columns.
SCHEDULERS = """
fcfs                      arrival; nothing overtakes
easy                      arrival; overtakes what does not delay the first
conservative              arrival; overtakes what delays no reservation
reservations:depth=1      arrival; overtakes what delays none of so many
sjf, ljf                  EASY, the shortest or the longest estimate first
smallest, largest         EASY, the fewest or the most processors first
wfp3, unicef, f1          EASY, in orders of wait, estimate and processors
priority-fifo:queues=5/2  EASY, the log's queues by urgency
creasy:alpha=6000         EASY, what is critical to its user first
user-priority:alpha_user=0.5,by=load|recency
                          EASY, users with the least waiting work, or with
                          the latest submission, first
multi-queue:partitions=4  a queue and processors for each class of estimates
self-adaptive:threshold=10,weeks=1,forecast=replay|waiting|actual
                          multi-queue; simulates how many queues are best
                          (more parameters: most, measure, family)
genetic:window=50,individuals=20,generations=100,mutation=0.1
                          EASY, orders bred for what jobs are worth by their
                          utility functions (also: queues as above; --seed)
recorded                  each job waits as it did in the log

EASY and its orders up to priority-fifo take backfill=ORDER for those who
overtake (arrival, sjf, ljf, smallest, largest, none) and, but for
wfp3 and unicef, reservations=K. They, creasy and user-priority take
spare=none (who overtakes ends by the time at which the first will fit)
and strict=yes (before it).
"""
