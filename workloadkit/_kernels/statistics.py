"""Compiled statistics of a log: similarity, recurrence, order, medians, long memory, sessions.

The jobs are those of users 0..n_users-1, one user after the other. Sessions are numbered in the
same order, so that the numbers of one user differ by the distance of the sessions. Arrays of
begins have one more entry, which ends the last item.
"""

import numpy as np

from workloadkit._kernels.compile import helper, small


@small
def similarity_sums(order, value, first, session, n_sessions, distance):
    """Return pairs of jobs by user, at distance 0 and another; their ratios' sum; identical ones.

    `order` lists the jobs by user, a user's by ascending `value` (which is in that order), and
    ``first[u]`` is the first of user `u`. So each ratio of a job to earlier ones has this job's
    value as denominator, and the sum of a session's values suffices.
    """
    n_users = len(first) - 1
    pairs = np.zeros((n_users, 2), np.int64)
    total = np.zeros((n_users, 2))
    identical = np.zeros((n_users, 2), np.int64)

    # For each session: the jobs so far, the sum of their values, the largest, and how many have it,
    # side by side. A gap keeps the sessions of different users further apart than the distance.
    seen = np.zeros((n_sessions + distance * (n_users + 1), 4))

    for u in range(n_users):
        # as floats, which have numbers of pairs exactly, and add them faster
        near_pairs = near_total = near_same = far_pairs = far_total = far_same = 0.0
        for i in range(first[u], first[u + 1]):
            s, x = session[order[i]] + distance * (u + 1), value[i]
            here, before, behind = seen[s], seen[s - distance], seen[s + distance]
            near, far = here[0], before[0] + behind[0]
            near_pairs += near
            far_pairs += far
            # 0 and 0 count as equal
            near_total += here[1] / x if x > 0 else near
            far_total += (before[1] + behind[1]) / x if x > 0 else far
            # Products, as branches would be unpredictable.
            same = here[3] * (here[2] == x)
            near_same += same
            far_same += before[3] * (before[2] == x) + behind[3] * (behind[2] == x)
            here[0] += 1
            here[1] += x
            here[2] = x
            here[3] = same + 1
        pairs[u][0], pairs[u][1] = int(near_pairs), int(far_pairs)
        total[u][0], total[u][1] = near_total, far_total
        identical[u][0], identical[u][1] = int(near_same), int(far_same)
    return pairs, total, identical


@small
def similarity_medians(value, first_job, first_session, group, distances):
    """Upper median of the ratios by group of users and distance; NaN without pairs.

    `value` ascends in each session; ``first_job[s]`` is the first of session `s`,
    ``first_session[u]`` that of user `u`, and ``group[g]`` the first user of group `g`. No ratio
    is stored: the median is found by bisection between occurring ratios; each step counts the
    ratios above a limit, in time linear in the jobs.
    """
    medians = np.full((len(group) - 1, len(distances)), np.nan)
    for g in range(len(group) - 1):
        sessions = first_session[group[g] : group[g + 1] + 1]
        for k in range(len(distances)):
            medians[g][k] = _upper_median(value, first_job, sessions, distances[k])
    return medians


@helper
def _upper_median(value, first_job, sessions, distance):
    n_above, n_pairs, below, above = _split(value, first_job, sessions, distance, -1.0)
    if n_pairs == 0:
        return np.nan
    rank = n_pairs // 2  # how many ratios, in ascending order, come before the median
    low, high = above, 1.0  # the median lies between them; low is an occurring ratio
    while low < high:
        middle = low + (high - low) / 2
        if middle >= high:  # no number lies between them
            middle = low
        n_above, n_pairs, below, above = _split(value, first_job, sessions, distance, middle)
        if n_pairs - n_above > rank:
            high = below
        else:
            low = above
    return low


@helper
def _split(value, first_job, sessions, distance, limit):
    """Count ratios above `limit`, and all; find the largest up to it, and the smallest above."""
    n_above = n_pairs = 0
    below, above = -1.0, 2.0
    for u in range(len(sessions) - 1):
        for a in range(sessions[u], sessions[u + 1] - distance):
            b = a + distance
            first, last = first_job[b], first_job[b + 1]
            low = high = first  # of session b, the jobs low..high-1 have a ratio above the limit
            for i in range(first_job[a], first_job[a + 1]):
                x = value[i]
                if distance == 0:  # each pair once: i before j
                    first = i + 1
                    low, high = max(low, first), max(high, first)
                while low < last and value[low] < x and value[low] / x <= limit:
                    low += 1
                while high < last and (value[high] <= x or x / value[high] > limit):
                    high += 1
                n_pairs += last - first
                if high > low:
                    n_above += high - low
                    above = min(above, _ratio(x, value[low]), _ratio(x, value[high - 1]))
                if low > first:
                    below = max(below, _ratio(x, value[low - 1]))
                if high < last:
                    below = max(below, _ratio(x, value[high]))
    return n_above, n_pairs, below, above


@helper
def _ratio(a, b):
    return min(a, b) / max(a, b) if max(a, b) > 0 else 1.0  # 0 and 0 count as equal


@small
def shuffled_within(values, first, rng):
    """Return the values with those of first[u]..first[u+1]-1 of each `u` shuffled."""
    values = values.copy()
    for u in range(len(first) - 1):
        for i in range(first[u + 1] - 1, first[u], -1):
            j = first[u] + int(rng.random() * (i + 1 - first[u]))
            values[i], values[j] = values[j], values[i]
    return values


@small
def exact_depths(code, n_codes):
    """Return the stack depth of each value, -1 for new ones; values are 0..n_codes-1.

    The depth is the number of different values since the last occurrence; a tree of partial sums
    (Fenwick, 1994) counts the values with a later last occurrence.
    """
    n = len(code)
    depth = np.empty(n, np.int64)
    last = np.full(n_codes, -1)
    tree = np.zeros(n + 1, np.int64)  # over places: 1 at the last occurrence of a value
    n_stored = 0
    for i in range(n):
        before = last[code[i]]
        depth[i] = -1
        if before >= 0:
            depth[i] = n_stored
            place = before + 1
            while place > 0:
                depth[i] -= tree[place]
                place -= place & -place
            place = before + 1
            while place <= n:
                tree[place] -= 1
                place += place & -place
        else:
            n_stored += 1
        last[code[i]] = i
        place = i + 1
        while place <= n:
            tree[place] += 1
            place += place & -place
    return depth, n_stored


@small
def inversions(code, weight, n_codes):
    """Return the weight of all pairs whose first has the larger code, of 0..n_codes-1."""
    tree = np.zeros(n_codes + 1, np.int64)  # partial sums of the weight so far, by code
    total = so_far = 0
    for i in range(len(code)):
        larger = so_far
        place = code[i] + 1
        while place > 0:
            larger -= tree[place]
            place -= place & -place
        total += weight[i] * larger
        place = code[i] + 1
        while place <= n_codes:
            tree[place] += weight[i]
            place += place & -place
        so_far += weight[i]
    return total


@small
def near_depths(value, tolerance):
    """Return the depth of the first stack entry within the tolerance of each value, -1 for none.

    Entries differ by more than the tolerance, so there are few, and the stack is searched
    linearly.
    """
    n = len(value)
    depth = np.empty(n, np.int64)
    stack = np.empty(64)  # the top at its end
    size = 0
    for i in range(n):
        at = size - 1
        while at >= 0 and not abs(value[i] - stack[at]) <= tolerance * stack[at]:
            at -= 1
        if at >= 0:
            depth[i] = size - 1 - at
            found = stack[at]
            for j in range(at, size - 1):
                stack[j] = stack[j + 1]
            stack[size - 1] = found
            continue
        depth[i] = -1
        if size == len(stack):
            larger = np.empty(2 * size)
            larger[:size] = stack
            stack = larger
        stack[size] = value[i]
        size += 1
    return depth, size


@small
def largest_counts(code, day, n_days, n_codes):
    """Return the largest number of items of one code on each of the days 0..n_days-1."""
    counts = np.zeros(n_days * n_codes, np.int64)
    largest = np.zeros(n_days, np.int64)
    for i in range(len(code)):
        place = day[i] * n_codes + code[i]
        counts[place] += 1
        largest[day[i]] = max(largest[day[i]], counts[place])
    return largest


# Medians of samples in which users count several times, or not at all.


@small
def weighted_medians(value, user, weights, total, start, below):
    """Median for each row of `weights`, for ascending `value`; NaN where all weights are 0.

    `weights` has a column for each user: the number of times that each value of the user counts,
    `total` in all and `below` before the value at `start`, up to which the median does not lie.
    """
    n_resamples = len(weights)
    median = np.full(n_resamples, np.nan)
    for r in range(n_resamples):
        if not total[r] > 0:  # written so that NaN is left out
            continue
        weight, up_to_here, i = weights[r], below[r], start[r] - 1
        while 2 * up_to_here < total[r]:
            i += 1
            up_to_here += weight[user[i]]
        median[r] = value[i]
        if 2 * up_to_here == total[r]:  # the middle lies between two values
            i += 1
            while weight[user[i]] == 0:
                i += 1
            median[r] = (median[r] + value[i]) / 2
    return median


# Rescaled ranges of windows, and fluctuations around trends in boxes.


@small
def rescaled_ranges(series, begin, size):
    """Return the range of the summed deviations over the standard deviation, of each window.

    NaN for windows of constant values.
    """
    result = np.full(len(begin), np.nan)
    for window in range(len(begin)):
        first, end = begin[window], begin[window] + size[window]
        mean = 0.0
        varies = False
        for i in range(first, end):
            mean += series[i]
            varies |= series[i] != series[first]
        if not varies:
            continue
        mean /= size[window]
        deviation = squares = 0.0
        low, high = np.inf, -np.inf
        for i in range(first, end):
            z = series[i] - mean
            squares += z * z
            deviation += z
            low = min(low, deviation)
            high = max(high, deviation)
        result[window] = (high - low) / np.sqrt(squares / size[window])
    return result


@small
def fluctuations(profile, size):
    """Return the root mean square deviation of `profile` from linear trends in boxes, by size.

    The boxes of a size are consecutive from the beginning; the remainder is left out.
    """
    result = np.empty(len(size))
    for k in range(len(size)):
        length = size[k]
        n_boxes = len(profile) // length
        middle = (length - 1) / 2
        spread = length * (length * length - 1.0) / 12  # sum of squared distances to the middle
        total = 0.0
        for first in range(0, n_boxes * length, length):
            mean = 0.0
            for i in range(length):
                mean += profile[first + i]
            mean /= length
            across = squares = 0.0
            for i in range(length):
                y = profile[first + i] - mean
                across += (i - middle) * y
                squares += y * y
            total += max(squares - across * across / spread, 0.0)
        result[k] = np.sqrt(total / (n_boxes * length))
    return result


# Sessions and batches of users.


@small
def label_sessions(submit, reach, end, user, n_users, threshold, latest):
    """Session, batch and think time of each job, for ascending `submit` and users 0..n_users-1.

    `reach` is the time until which each job keeps a session open. The latest reach and the latest
    end of a session's jobs count or, if not `latest`, those of the job submitted last.
    """
    n_jobs = len(submit)
    session = np.empty(n_jobs, np.int64)
    batch = np.empty(n_jobs, np.int64)
    think_time = np.empty(n_jobs, np.float64)
    n_sessions = n_batches = 0

    # The present session and batch of each user; -1: nothing submitted yet.
    current_session = np.empty(n_users, np.int64)
    current_batch = np.empty(n_users, np.int64)
    reached = np.empty(n_users, np.float64)
    ended = np.empty(n_users, np.float64)
    for u in range(n_users):
        current_session[u] = -1

    for job in range(n_jobs):
        u = user[job]
        new_session = current_session[u] < 0 or submit[job] - reached[u] > threshold
        new_batch = new_session or submit[job] > ended[u]
        think_time[job] = np.nan
        if new_session:
            current_session[u] = n_sessions
            n_sessions += 1
        elif new_batch:
            think_time[job] = submit[job] - ended[u]
        if new_batch:
            current_batch[u] = n_batches
            n_batches += 1
        session[job] = current_session[u]
        batch[job] = current_batch[u]
        if new_session or not latest:
            reached[u] = reach[job]
            ended[u] = end[job]
        else:
            reached[u] = max(reached[u], reach[job])
            ended[u] = max(ended[u], end[job])
    return session, batch, think_time
