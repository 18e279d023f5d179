"""A live relocation: tables go from one place to another while they are in use, and can go back.

    SOURCE                                                                       TARGET
    stream ── skimmed to its end: the point in time
    items ────────────────── segments, in parallel ─────────────────────────────▶ items       copying
    stream ── changes since that point, shard by shard, in order ───────────────▶ items       following
       ▲                                                                           │
    writers, held for less than a second: hold, read the rest, compare, move      ▼
    items ◀──────────────────────────────────────────────── changes since then ── stream      reversing, until finished

control_table         what both places keep of it: who may write, how far everything is, what is asked for
table_streams         streams as a relocation reads them
stream_following      changes of one place, applied to the other, each once and in order
bulk_copying          the items, before that
live_comparing        verification while both places change; what differs is written again
relocation_state      phases, and what a relocation is about
relocation            the process that does it all, and can be killed anywhere

**Exactly once.** Every write of a relocation is a transaction with the item that says how far its shard or segment is,
on condition that this process still has the right to it (``owner``, a number that grows): a process that was taken for
dead and wakes up can change nothing, and nothing is applied a second time. Copying writes a page again at most, before
any change is applied.

**The cut.** Whoever uses the tables goes by the switch (``store.switch``). It is held; nobody goes by older knowledge
after the time of a lease; the stream is read to its end; what changed last is compared; the stream of the other place
is turned on, so that it begins with the first change that is made there; the switch moves. The stream that was left is
turned off: consumers read it to its end, and go on with the new one.

**The way back** is the same with the places exchanged.
"""
