"""Resampling by users, from Zakay and Feitelson (2014), sections 4 and 6.

Nothing is drawn here: what was drawn is read off the resampled log, job by job, and the rules say
what else must then stand in it. Jobs are dicts, in order of submit.
"""

import math
from datetime import UTC, datetime, timedelta

WEEK = 7 * 24 * 3600
EPOCH = datetime(1970, 1, 1)


class Calendar:
    """What a clock on the wall shows, and when it first shows it. Without a zone, log seconds."""

    def __init__(self, start=0, zone=None):
        self.start, self.zone = start, zone

    def shows(self, time):
        """Seconds from 1970 to the local date and time of day."""
        if self.zone is None:
            return time
        whole = math.floor(time)
        there = datetime.fromtimestamp(self.start + whole, UTC).astimezone(self.zone)
        return (there.replace(tzinfo=None) - EPOCH).total_seconds() + (time - whole)

    def first_second(self, shown):
        """First second at which it shows this; where it is skipped, the second of the change."""
        if self.zone is None:
            return shown
        whole = math.floor(shown)
        there = EPOCH + timedelta(seconds=whole)
        readings = [there.replace(tzinfo=self.zone, fold=fold) for fold in (0, 1)]
        low, high = sorted(int(reading.timestamp()) - self.start for reading in readings)
        for second in (low, high):
            if self.shows(second) == whole:
                return second + (shown - whole)
        while high - low > 1:  # the clock jumps over it between these two
            middle = (low + high) // 2
            low, high = (middle, high) if self.shows(middle) < whole else (low, middle)
        return high

    def weekday_and_time(self, time):
        return self.shows(time) % WEEK


class Log:
    """The jobs of a log that can be resampled, and what is asked about its users.

    Of each job, what the clock on the wall shows, and its week, counted on it from the begin.
    """

    def __init__(self, jobs, calendar, first=None):
        self.jobs, self.calendar = jobs, calendar
        self.begin, self.end = jobs[0]["submit"], jobs[-1]["submit"]
        self.rows = {}
        for row, job in enumerate(jobs):
            if job["run"] >= 0 and job["procs"] > 0 and job["user"] != -1:
                self.rows.setdefault(job["user"], []).append(row)
        self.shown = [calendar.shows(job["submit"]) for job in jobs]
        # The new log has the clock of the `first` of several; weeks begin as that one's do.
        first = first or self
        self.new_calendar = first.calendar
        origin = self.shown[0] - (self.shown[0] - first.shown[0]) % WEEK
        self.weeks = [math.floor((shown - origin) / WEEK) for shown in self.shown]
        self.later = first.shown[0] - origin  # whole weeks

    def length_in_weeks(self):
        return (self.end - self.begin) / WEEK

    def number_of_weeks(self):
        """How many weeks, counted from the begin, the log reaches into."""
        return max(math.ceil(self.length_in_weeks()), 1)

    def first_week(self, user):
        return self.weeks[self.rows[user][0]]

    def weeks_present(self, user):
        """How many weeks there are from that of the first job to that of the last."""
        return self.weeks[self.rows[user][-1]] - self.first_week(user) + 1

    def kind(self, user, end_effects="whole"):
        times = [self.jobs[row]["submit"] for row in self.rows[user]]
        if times[-1] - times[0] > 12 * WEEK:
            return "long-term"
        near_begin = [time <= self.begin + 4 * WEEK for time in times]
        near_end = [time >= self.end - 4 * WEEK for time in times]
        some = all if end_effects == "whole" else any
        return "truncated" if some(near_begin) or some(near_end) else "temporary"

    def pool(self, kind, end_effects="whole"):
        return [user for user in self.rows if self.kind(user, end_effects) == kind]

    def arrivals_per_week(self, **how):
        return len(self.pool("temporary", **how)) / self.length_in_weeks()

    def mean_present(self, **how):
        """Mean number of temporary users present in a week."""
        present = 0
        for week in range(self.number_of_weeks()):
            for user in self.pool("temporary", **how):
                since = week - self.first_week(user)
                present += 0 <= since < self.weeks_present(user)
        return present / self.number_of_weeks()

    def period(self, user):
        """Weeks from a long-term user's first job to the same job of the next cycle.

        "The sum of the intervals between the user's period of activity and the full logging
        period" lies between two cycles, so that a cycle and it make up the log's length.
        """
        shown = [self.shown[row] for row in self.rows[user]]
        least = math.floor((shown[-1] - shown[0]) / WEEK) + 1
        return max(math.floor(self.length_in_weeks() + 0.5), least)

    def incarnation(self, user, start, until):
        """The jobs of a user who is started in week `start`, before or after the begin (0).

        Of one started before it, the weeks before it are gone. Only long-term users come again. A
        list of (row, cycle, submit) up to the time `until`.
        """
        moved, latest = [], -math.inf
        shift = start - self.first_week(user)
        cycle = 0
        while True:
            for row in self.rows[user]:
                if self.weeks[row] + shift < 0:
                    continue
                shown = self.shown[row] + self.later + shift * WEEK
                latest = max(self.new_calendar.first_second(shown), latest)
                moved.append((row, cycle, latest))
            if self.kind(user) != "long-term" or latest > until:
                return [job for job in moved if job[2] <= until]
            shift += self.period(user)
            cycle += 1

    def start_of(self, user, row, submit):
        """Week in which the first week of a user's activity lies, if a job stands at `submit`.

        The clock may have been changed between, or have jumped over that time; a week is longer.
        """
        moved = self.new_calendar.shows(submit) - self.later - self.shown[row]
        shift = round(moved / WEEK)
        return shift + self.first_week(user)


def incarnations(original_rows, users, submits):
    """Rows of the original and submit times of each user of a resampled log."""
    of = {}
    for row, user, submit in zip(original_rows, users, submits, strict=True):
        of.setdefault(user, []).append((row, submit))
    return of


def are_far_apart(starts, weeks_present):
    """Whether replicas of one user begin at weeks of his that lie a k-th of them apart, in a ring.

    `starts` are the weeks of the activity with which they begin, from 0.
    """
    k = len(starts)
    apart = [math.floor(j * weeks_present / k) for j in range(k)]
    return any(
        sorted((first + step) % weeks_present for step in apart) == sorted(starts)
        for first in range(weeks_present)
    )


def included(weights, n):
    """Probability of each item to be among `n` drawn one by one in proportion to its weight."""

    def drawn(left, n):
        if n == 0 or not left:
            return {}
        total = sum(weights[item] for item in left)
        chance = {}
        for item in left:
            here = weights[item] / total
            chance[item] = chance.get(item, 0) + here
            for other, later in drawn(left - {item}, n - 1).items():
                chance[other] = chance.get(other, 0) + here * later
        return chance

    return drawn(frozenset(weights), n)


def binomial(n, p):
    """Probabilities of 0 to n."""
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
