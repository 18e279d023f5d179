"""Writes large values until it is killed, and says what has been acknowledged: ``python large_writer.py FOLDER``."""

from __future__ import annotations

import sys
from itertools import count

from tablewright.model import attr
from tablewright.store import Store
from tests.store.large_value_design import Paper, long, papers

PAPERS = 3


def text(number: int) -> str:
    return long(str(number), 20_000)


def main(folder: str) -> None:
    store = Store.open(folder)
    store.ensure_tables(papers)
    print("ready", flush=True)
    for number in count():
        paper_id = str(number % PAPERS)
        how = number // PAPERS % 3
        if how == 0:
            store.put(Paper(folder="f", paper_id=paper_id, body=text(number)))
        elif how == 1:
            store.update(Paper.by_id(folder="f", paper_id=paper_id), attr(Paper.body).set(text(number)))
        else:
            store.write_many([Paper(folder="f", paper_id=paper_id, body=text(number))])
        print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
