"""The output of sacct without -P, cell by cell below the dashes, as rows of sacct -P."""

from tests.oracles import slurm

KEPT = ("JobID", "State", "User", "Account", "Partition", "JobName")


def cells(line, spans):
    """The cells of a line; those that end in + at the end of their column are cut."""
    found = [line.encode()[begin:end].decode(errors="replace") for begin, end in spans]
    return [(cell.strip(), cell.endswith("+")) for cell in found]


def jobs(text):
    """The jobs, and how many lines have text that is cut."""
    names, dashes, *lines = text.split("\n")
    spans, at = [], 0
    for word in dashes.split():
        begin = dashes.index(word, at)
        at = begin + len(word)
        spans.append((begin, at))
    titles = [name for name, _ in cells(names, spans)]
    rows, n_cut = ["|".join(titles)], 0
    for line in lines:
        if not line.strip():
            continue
        found = cells(line, spans)
        n_cut += any(cut for _, cut in found)
        row = [
            "" if cut and title not in KEPT else cell.replace("|", "/")
            for title, (cell, cut) in zip(titles, found, strict=True)
        ]
        rows.append("|".join(row))
    found, left_out = slurm.jobs("\n".join(rows).replace("CANCELLED+", "CANCELLED"))
    for job in found:
        job["place"] += 1  # the line of dashes
    return found, left_out, n_cut
