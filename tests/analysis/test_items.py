"""The items of documents: each is shown by a study, or it is said why none shows it."""

import csv
import re
from pathlib import Path

import pytest

from workloadkit.analysis import studies

FOLDER = Path(studies.__file__).parent
ROOT = Path(__file__).parents[2]

#: What the reason begins with where no study shows an item.
REASONS = ("definition: ", "setting: ", "background: ", "log not available: ", "not measured")


def answered():
    """The items of the files that say where each is shown."""
    for path in sorted((FOLDER / "items").glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            items = list(csv.DictReader(file))
        if items and "row" in items[0]:
            yield pytest.param(items, id=path.stem)


ANSWERED = list(answered())


@pytest.mark.parametrize("items", ANSWERED)
def test_each_item_is_shown_by_a_study_or_says_why_not(items):
    for item in items:
        assert item["row"].strip(), item
        assert item["study"] in ("", *studies.study_names()), item
        assert item["study"] or item["row"].startswith(REASONS), item


@pytest.mark.parametrize("items", ANSWERED)
def test_modules_that_implement_items_exist(items):
    for item in items:
        if not item["study"] and item["row"].startswith("definition: "):
            modules = re.findall(r"(?:workloadkit|analysis|queueing|tests)/[\w/.]*\w", item["row"])
            assert modules, item
            assert all((ROOT / module).exists() for module in modules), item


@pytest.mark.parametrize("items", ANSWERED)
def test_rows_that_items_name_are_results_of_the_study(items):
    for item in items:
        kept = studies.REFERENCE / f"{item['study']}.csv"
        if not kept.exists():
            continue
        with kept.open(newline="", encoding="utf-8") as file:
            quantities = [row["quantity"] for row in csv.DictReader(file)]
        for row in item["row"].split("; "):
            is_there = row.startswith("figure ") or any(row in words for words in quantities)
            assert is_there, (item["study"], row)
