"""A live relocation: tables move from one place to another while they are in use, and can move back.

    SOURCE                                                                       TARGET
    stream ── skimmed to its end: the point in time
    items ────────────────── segments, in parallel ─────────────────────────────▶ items       copying
    stream ── changes since that point, shard by shard, in order ───────────────▶ items       following
       ▲                                                                           │
    writers, held for less than a second: hold, read the rest, compare, move      ▼
    items ◀──────────────────────────────────────────────── changes since then ── stream      reversing, until finished

control_table         the state in both places: who may write, progress, requested steps
table_streams         the streams of a place, as a relocation reads them
stream_following      applies the changes of one place to the other, each once and in order
bulk_copying          copies the items, before that
live_comparing        verification while both places change; items that differ are written again
relocation_state      phases, and the description of a relocation
relocation            the process that does it all, and can be killed at any point

**Exactly once.** Every write of a relocation is a transaction with the item that records the progress of its shard or
segment, on condition that this process still owns it (``owner``, a number that grows): a process that was presumed dead
and wakes up can change nothing, and nothing is applied twice. At most, copying writes a page again, before any change
is applied.

**The cut.** All programs that use the tables follow the switch (``store.switch``). It is held; after the time of a
lease no program acts on an older state; the stream is read to its end; the latest changes are compared; the stream of
the other place is enabled, so that it begins with the first change made there; the switch moves. The old stream is
disabled: consumers read it to its end, and continue with the new one.

**The way back** is the same with the places exchanged.
"""
