"""Predictors while a schedule is made, from the words of their pages alone."""

import math

from tests.oracles.predictions import FROM_THE_PAST, STEPS


class Predictor:
    """What is planned for the jobs of a site, learned from them and corrected.

    `run` and `limit` are those of the simulation, `request` what the users asked for. With whole
    seconds a prediction is rounded down, and at least 1 s.
    """

    def __init__(self, text, site, run, limit, request, least):
        self.name, _, rules = text.partition(",correct=")
        self.rule, _, self.renewed = rules.partition(",renewed=")
        self.site, self.run, self.limit, self.request = site, run, limit, request
        self.whole, self.ended, self.first = least == 1, [], {}

    def describe(self, job):
        """What the words call the same job: that of one user, size and request."""
        site = self.site
        return {"user": site.user[job], "procs": site.procs[job], "limit": self.request[job]}

    def expected(self, job):
        limit = self.limit[job]
        if self.name == "requested" or (self.name == "exact" and job in self.site.leaves):
            return limit  # the run time of a job that is cancelled is not known
        if self.name == "exact":
            return self.run[job]
        if self.name.startswith("factor:"):
            return limit * float(self.name[7:])
        key, expect = FROM_THE_PAST[self.name]
        like = key(self.describe(job))
        time = expect([self.run[old] for old in self.ended if key(self.describe(old)) == like])
        return limit if time is None else min(float(time), limit)

    def plan(self, job):
        """Plan a job that arrives."""
        time = self.expected(job)
        self.first[job] = max(math.floor(time), 1) if self.whole else time
        self.site.estimate[job] = self.first[job]

    def learn(self, job):
        self.ended.append(job)

    def renew(self):
        """Plan the waiting jobs again; whether a prediction has changed."""
        waiting, estimate = self.site.waiting, self.site.estimate
        before = [estimate[job] for job in waiting]
        for job in waiting if self.renewed == "yes" else ():
            self.plan(job)
        return before != [estimate[job] for job in waiting]

    def correct(self):
        """Replace the predictions that running jobs have outlived; whether there are any."""
        site, found = self.site, False
        for job in site.running:
            while site.start[job] + site.estimate[job] <= site.now:
                longer = min(self.longer(job), self.limit[job])
                if longer <= site.estimate[job]:
                    break
                site.estimate[job], found = longer, True
        return found

    def longer(self, job):
        planned = self.site.estimate[job]
        if self.rule == "none" or self.name == "exact":
            return planned
        if self.rule == "double":
            return 2 * planned or self.limit[job]
        if self.rule == "increments":
            steps = [self.first[job] + step for step in STEPS]
            return next((time for time in steps if time > planned), self.limit[job])
        return self.limit[job]
