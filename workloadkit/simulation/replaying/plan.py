"""Planned free processors from now on: a level that holds until the next step; compiled."""

from workloadkit._kernels.compile import bare
from workloadkit.simulation.replaying.codes import FREE, N_RUNNING, N_STEPS, UNCLEAR


@bare
def plan_running(jobs, state, now):
    """Plan with the running jobs, by their estimates.

    A job that has reached or outlived its estimate counts as ending now.
    """
    times, free, n_steps = state.times, state.free, 1
    times[0], free[0] = now, state.at[FREE]
    for place in range(state.at[N_RUNNING]):
        job = state.running[place]
        end = jobs.planned_end[job]
        if end > times[n_steps - 1]:
            times[n_steps], free[n_steps] = end, free[n_steps - 1]
            n_steps += 1
        else:
            _compare(state, times[n_steps - 1], end)
        free[n_steps - 1] += jobs.procs[job]
    state.at[N_STEPS] = n_steps


@bare
def forget(state, now):
    """Remove past steps."""
    times, free, n_steps = state.times, state.free, state.at[N_STEPS]
    gone = 0
    while gone + 1 < n_steps and times[gone + 1] <= now:
        gone += 1
    if gone > 0:
        for step in range(gone, n_steps):
            times[step - gone], free[step - gone] = times[step], free[step]
        state.at[N_STEPS] = n_steps - gone
    times[0] = now


@bare
def take(state, begin, end, procs):
    """Take processors from `begin`, not before now, until `end`; negative: release them."""
    if begin >= state.never:
        return
    first, last = _step(state, begin), _step(state, end)
    for step in range(first, last):
        state.free[step] -= procs
    _join(state, last)
    _join(state, first)


@bare
def take_at(state, time, procs):
    """Take processors for a job that ends at a time, and needs them at it, too."""
    state.free[_step(state, time)] -= procs


@bare
def _step(state, time):
    """Return the step that begins at a time; add it if necessary."""
    times, free, n_steps = state.times, state.free, state.at[N_STEPS]
    low, high = 0, n_steps
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    if low > 0:
        _compare(state, times[low - 1], time)
        _compare(state, times[min(low, n_steps - 1)], time)
    if low == n_steps or times[low] != time:
        for step in range(n_steps, low, -1):
            times[step], free[step] = times[step - 1], free[step - 1]
        times[low], free[low] = time, free[low - 1]
        state.at[N_STEPS] += 1
    return low


@bare
def _join(state, step):
    """Merge two steps of equal level."""
    times, free, n_steps = state.times, state.free, state.at[N_STEPS]
    if 0 < step < n_steps and free[step - 1] == free[step]:
        for other in range(step, n_steps - 1):
            times[other], free[other] = times[other + 1], free[other + 1]
        state.at[N_STEPS] -= 1


@bare
def earliest(state, duration, procs, own):
    """Return the begin of the earliest slot, at the latest at `own`, the job's reservation.

    A slot that lasts until then may continue in that reservation.
    """
    times, free, n_steps = state.times, state.free, state.at[N_STEPS]
    begin = times[0]
    for step in range(n_steps):
        if begin >= own:
            break
        following = times[step + 1] if step + 1 < n_steps else state.never
        if free[step] < procs:
            begin = following
        elif following >= own or not is_before(state, following, begin + duration):
            return begin
    return own


@bare
def fits_now(state, end, procs, strict):
    """Whether processors are free from now until `end`; if `strict`, at that second, too."""
    if not strict and end <= state.times[0]:  # for 0 s
        return True
    if state.free[0] < procs:
        return False
    for step in range(1, state.at[N_STEPS]):
        time = state.times[step]
        if is_before(state, end, time) if strict else not is_before(state, time, end):
            break
        if state.free[step] < procs:
            return False
    return True


@bare
def is_before(state, time, other):
    """Whether a time is before another one by more than rounding."""
    _compare(state, time, other)
    return time + state.tie < other


@bare
def _compare(state, time, other):
    """Record that only rounding decides which of two times comes first.

    Whole seconds are not rounded.
    """
    if 0 < state.tie >= abs(time - other):
        state.at[UNCLEAR] = True
