"""Attribute values for Hypothesis, canonical and valid."""

from __future__ import annotations

from hypothesis import strategies as st

values = st.recursive(
    st.one_of(
        st.builds(lambda text: {"S": text}, st.text(max_size=20)),
        st.builds(lambda number: {"N": str(number)}, st.integers(-(10**9), 10**9)),
        st.just({"NULL": True}),
        st.just({"BOOL": True}),
        st.just({"B": "AQ=="}),
        st.builds(lambda members: {"SS": sorted(members)}, st.sets(st.text(max_size=3), min_size=1, max_size=4)),
    ),
    lambda inner: st.one_of(
        st.builds(lambda members: {"L": members}, st.lists(inner, max_size=4)),
        st.builds(lambda members: {"M": members}, st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=4)),
    ),
    max_leaves=8,
)
items = st.dictionaries(st.text(min_size=1, max_size=4), values, max_size=6)
