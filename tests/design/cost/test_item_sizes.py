"""Sizes and units are those of the engine, for any item."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from tablewright import dynamo
from tablewright.design.cost.item_sizes import item_size, read_units, write_units
from tablewright.model.values.attribute_codec import number_text

numbers = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**12), max_value=10**12).map(
    number_text
)
scalars = st.one_of(
    st.text(max_size=30).map(lambda text: {"S": text}),
    numbers.map(lambda number: {"N": number}),
    st.sampled_from(["", "QQ==", "QUJD"]).map(lambda data: {"B": data}),
    st.booleans().map(lambda value: {"BOOL": value}),
    st.just({"NULL": True}),
    st.sets(st.text(min_size=1, max_size=5), min_size=1).map(lambda texts: {"SS": sorted(texts)}),
    st.sets(numbers, min_size=1, max_size=4).map(lambda found: {"NS": sorted(found)}),
)
attributes = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda members: {"L": members}),
        st.dictionaries(st.text(max_size=5), inner, max_size=4).map(lambda members: {"M": members}),
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1, max_size=8), attributes, max_size=6))
def test_an_item_has_the_size_that_the_engine_charges(item: dict[str, dict[str, object]]) -> None:
    assert item_size(item) == dynamo.item_size(item)


@given(st.integers(0, 500_000))
def test_units_are_those_of_the_engine(size: int) -> None:
    assert write_units(size) == dynamo.write_units(size)
    assert read_units(size) == Decimal(str(dynamo.read_units(size, False)))
    assert read_units(size, consistent=True) == Decimal(str(dynamo.read_units(size, True)))
