"""What a site model needs, from Shmueli (2008), sections 3.3 and 5.3.2.

Sessions and batches by "last", 20 minutes; `jobs` are as in `tests.oracles.sessions`. Times in
seconds; every distribution is the list of its values.
"""

from itertools import pairwise

from tests.oracles.sessions import delimit, end, ran

MINUTE = 60
HOUR = 3600
SESSION = 20 * MINUTE
LONGEST_BREAK = 8 * HOUR


def distributions(jobs):
    jobs = [job for job in ran(jobs).values() if job["user"] != -1]
    found = {name: [] for name in ("batch_width", "gap", "think_time", "break_time", "repetition")}
    labels = delimit(jobs, "last", SESSION)
    for user in {job["user"] for job in jobs}:
        its = [i for i in labels if jobs[i]["user"] == user]
        batches = runs(its, key=lambda i: labels[i][1])
        for batch in batches:
            found["batch_width"].append(len(batch))
            found["gap"] += [jobs[j]["submit"] - jobs[i]["submit"] for i, j in pairwise(batch)]
        for before, after in pairwise(batches):
            silence = jobs[after[0]]["submit"] - end(jobs[before[-1]])
            if silence <= SESSION:
                found["think_time"].append(silence)
            elif silence <= LONGEST_BREAK:
                found["break_time"].append(silence)
        found["repetition"] += [len(run) for run in runs(its, key=lambda i: jobs[i]["procs"])]
    found["size"] = [job["procs"] for job in jobs]
    found["run"] = [job["run"] for job in jobs]
    return {name: sorted(values) for name, values in found.items()}


def classes(jobs, is_interactive, part_of):
    """By class of jobs: lists of values, pairs of size and run time, and what came before."""
    jobs = [job for job in ran(jobs).values() if job["user"] != -1]
    found = {}
    labels = delimit(jobs, "last", SESSION)
    for user in {job["user"] for job in jobs}:
        its = [i for i in labels if jobs[i]["user"] == user]
        name_of, before = {}, "none"
        for batch in runs(its, key=lambda i: labels[i][1]):
            kind = "interactive" if all(is_interactive(jobs[i]) for i in batch) else "batch"
            name = f"{part_of(jobs[batch[0]]['submit'])} {kind}"
            name_of |= dict.fromkeys(batch, name)
            note(found, name, "batch_width", len(batch))
            note(found, name, "after", before)
            before = kind
            for i, j in pairwise(batch):
                note(found, name, "gap", jobs[j]["submit"] - jobs[i]["submit"])
            for i in batch:
                note(found, name, "pair", (jobs[i]["procs"], jobs[i]["run"]))
        for i, j in pairwise(its):
            silence = jobs[j]["submit"] - end(jobs[i])
            if labels[i][1] != labels[j][1] and silence <= LONGEST_BREAK:
                pause = "think_time" if silence <= SESSION else "break_time"
                note(found, name_of[i], pause, silence)
            if silence >= 0 and jobs[i]["wait"] is not None:
                then = "continued" if silence <= SESSION else "aborted"
                note(found, name_of[i], then, jobs[i]["wait"] + jobs[i]["run"])
        for run in runs(its, key=lambda i: jobs[i]["procs"]):
            note(found, name_of[run[0]], "repetition", len(run))
    return found


def note(found, name, what, value):
    found.setdefault(name, {}).setdefault(what, []).append(value)


def runs(items, key):
    """Groups of neighbours of the same key."""
    groups = []
    for item in items:
        if groups and key(groups[-1][-1]) == key(item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups
