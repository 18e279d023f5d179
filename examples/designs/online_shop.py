"""AWS's online shop: a table that exists already, whose items are read and written as they are.

    python examples/designs/online_shop.py
    tablewright docs examples/designs/online_shop.py --out shop-document

It shows ids, dates and customers that are only in keys, raw keys, and sixteen access patterns from one table and two
indexes. The design is AWS's: "Using DynamoDB as a data store for an online shop", in the DynamoDB developer guide.
"""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from tablewright.model import (
    AcceptedFinding,
    Collection,
    CollectionQuery,
    Design,
    Entity,
    Get,
    GlobalIndex,
    KeyOnly,
    Keys,
    Query,
    Table,
    pascal_case,
    raw,
    schemas_of,
)
from tablewright.store import Store

shop = Table(
    "OnlineShop",
    "PK",
    "SK",
    indexes=[GlobalIndex("GSI1", "GSI1-PK", "GSI1-SK"), GlobalIndex("GSI2", "GSI2-PK", "GSI2-SK")],
    type_attribute="EntityType",
)

# In keys, and in no attribute of its own.
Id = Annotated[str, KeyOnly()]


class Address(BaseModel):
    country: str = Field(alias="Country")
    county: str = Field(alias="County")
    city: str = Field(alias="City")
    street: str = Field(alias="Street")
    number: str = Field(alias="Number")
    zip_code: str = Field(alias="ZipCode")


class ProductDetail(BaseModel):
    name: str = Field(alias="Name")
    description: str = Field(alias="Description")


class Payment(BaseModel):
    type: str = Field(alias="Type")
    amount: int = Field(alias="Amount")
    data: str = Field(alias="Data")


class InvoiceDetail(BaseModel):
    payments: list[Payment] = Field(alias="Payments")


class Customer(Entity, table=shop, naming=pascal_case, type_name="customer"):
    customer_id: Id
    email: str
    name: str

    keys = Keys(PK=raw("c#{customer_id}"), SK=raw("c#{customer_id}"))

    @Get()
    def by_id(self, customer_id: str) -> None:
        """1. A customer."""


class Product(Entity, table=shop, naming=pascal_case, type_name="product"):
    product_id: Id
    detail: ProductDetail
    price: str

    keys = Keys(PK=raw("p#{product_id}"), SK=raw("p#{product_id}"))

    @Get()
    def by_id(self, product_id: str) -> None:
        """2. A product."""


class Warehouse(Entity, table=shop, naming=pascal_case, type_name="warehouse"):
    warehouse_id: Id
    address: Address

    keys = Keys(PK=raw("w#{warehouse_id}"), SK=raw("w#{warehouse_id}"))

    @Get()
    def by_id(self, warehouse_id: str) -> None:
        """3. A warehouse."""


class WarehouseItem(Entity, table=shop, naming=pascal_case, type_name="warehouseItem"):
    product_id: Id
    warehouse_id: Id
    quantity: str

    keys = Keys(
        {
            "PK": raw("p#{product_id}"),
            "SK": raw("w#{warehouse_id}"),
            "GSI2-PK": raw("w#{warehouse_id}"),
            "GSI2-SK": raw("p#{product_id}"),
        }
    )

    @Query()
    def of_product(self, product_id: str) -> None:
        """4. The inventory of a product in all warehouses."""

    @Query("GSI2")
    def of_warehouse(self, warehouse_id: str) -> None:
        """14. The inventory of all products in a warehouse."""


class Order(Entity, table=shop, naming=pascal_case, type_name="order"):
    order_id: Id
    customer_id: Id
    date: str

    keys = Keys(PK=raw("o#{order_id}"), SK=raw("c#{customer_id}"))


class OrderItem(Entity, table=shop, naming=pascal_case, type_name="orderItem"):
    order_id: Id
    product_id: Id
    customer_id: Id
    date: Id
    quantity: str
    price: str

    keys = Keys(
        {
            "PK": raw("o#{order_id}"),
            "SK": raw("p#{product_id}"),
            "GSI1-PK": raw("p#{product_id}"),
            "GSI1-SK": raw("{date}"),
            "GSI2-PK": raw("c#{customer_id}"),
            "GSI2-SK": raw("p#{date}"),
        }
    )

    @Query()
    def of_order(self, order_id: str) -> None:
        """6. The products of an order."""

    @Query("GSI1")
    def of_product(self, product_id: str, *, since: str | None = None, until: str | None = None) -> None:
        """9. The orders of a product, in a range of dates."""

    @Query("GSI2")
    def of_customer(self, customer_id: str, *, since: str | None = None, until: str | None = None) -> None:
        """16. The products that a customer ordered, in a range of dates."""


class Invoice(Entity, table=shop, naming=pascal_case, type_name="invoice"):
    order_id: Id
    invoice_id: Id
    customer_id: Id
    amount: str
    date: str
    detail: InvoiceDetail

    keys = Keys(
        {
            "PK": raw("o#{order_id}"),
            "SK": raw("i#{invoice_id}"),
            "GSI1-PK": raw("i#{invoice_id}"),
            "GSI1-SK": raw("i#{invoice_id}"),
            "GSI2-PK": raw("c#{customer_id}"),
            "GSI2-SK": raw("i#{date}"),
        }
    )

    @Query()
    def of_order(self, order_id: str) -> None:
        """7. The invoice of an order."""

    @Get("GSI1")
    def by_id(self, invoice_id: str) -> None:
        """10. An invoice; 11. its payments."""

    @Query("GSI2")
    def of_customer(self, customer_id: str, *, since: str | None = None, until: str | None = None) -> None:
        """15. The invoices of a customer, in a range of dates."""


class Shipment(Entity, table=shop, naming=pascal_case, type_name="shipment"):
    order_id: Id
    shipment_id: Id
    warehouse_id: Id
    address: Address
    type: str
    date: str

    keys = Keys(
        {
            "PK": raw("o#{order_id}"),
            "SK": raw("sh#{shipment_id}"),
            "GSI1-PK": raw("sh#{shipment_id}"),
            "GSI1-SK": raw("sh#{shipment_id}"),
            "GSI2-PK": raw("w#{warehouse_id}"),
            "GSI2-SK": raw("sh#{shipment_id}"),
        }
    )

    @Query()
    def of_order(self, order_id: str) -> None:
        """8. The shipments of an order."""

    @Query("GSI2")
    def of_warehouse(self, warehouse_id: str) -> None:
        """13. The shipments of a warehouse."""


class ShipmentItem(Entity, table=shop, naming=pascal_case, type_name="shipmentItem"):
    order_id: Id
    item_id: Id
    shipment_id: Id
    product_id: Id
    quantity: str

    keys = Keys(
        {
            "PK": raw("o#{order_id}"),
            "SK": raw("shp#{item_id}"),
            "GSI1-PK": raw("sh#{shipment_id}"),
            "GSI1-SK": raw("p#{product_id}"),
        }
    )


class OrderDetails(Collection):
    order: Order
    items: list[OrderItem]
    invoice: Invoice | None
    shipments: list[Shipment]
    shipment_items: list[ShipmentItem]

    @CollectionQuery()
    def of_order(self, order_id: str) -> None:
        """5. All that belongs to an order, by one query."""


class ShipmentDetails(Collection):
    shipment: Shipment
    items: list[ShipmentItem]

    @CollectionQuery("GSI1")
    def of_shipment(self, shipment_id: str) -> None:
        """12. A shipment with its items."""


design = Design(
    "Online shop",
    tables=[shop],
    collections=[OrderDetails, ShipmentDetails],
    accepted=[
        AcceptedFinding("index-not-unique", "Invoice.by_id", "another program gives invoices their numbers"),
        *(
            AcceptedFinding(rule, place, "the items that are there have it as text")
            for rule, place in (
                ("money-type", "Product.price"),
                ("money-type", "OrderItem.price"),
                ("money-type", "Invoice.amount"),
                ("text-time", "OrderItem.date"),
                ("text-time", "Invoice.date"),
            )
        ),
    ],
)

_HOME = {"Country": "NL", "County": "Utrecht", "City": "Zeist", "Street": "Laan", "Number": "3", "ZipCode": "3701"}
_ADDRESS = {"M": {name: {"S": text} for name, text in _HOME.items()}}
_PAYMENT = {"M": {"Type": {"S": "Card"}, "Amount": {"N": "48"}, "Data": {"S": "-"}}}
# As another program stores them: attributes of DynamoDB, and ids that are in keys alone.
ITEMS: list[dict[str, Any]] = [
    {"PK": "c#77", "SK": "c#77", "EntityType": "customer", "Email": "mo@example.org", "Name": "Mo"},
    {"PK": "p#1", "SK": "p#1", "EntityType": "product", "Price": "20",
     "Detail": {"M": {"Name": {"S": "Lamp"}, "Description": {"S": "It shines"}}}},
    {"PK": "w#5", "SK": "w#5", "EntityType": "warehouse", "Address": _ADDRESS},
    {"PK": "p#1", "SK": "w#5", "EntityType": "warehouseItem", "GSI2-PK": "w#5", "GSI2-SK": "p#1", "Quantity": "9"},
    {"PK": "p#1", "SK": "w#6", "EntityType": "warehouseItem", "GSI2-PK": "w#6", "GSI2-SK": "p#1", "Quantity": "2"},
    {"PK": "o#9", "SK": "c#77", "EntityType": "order", "Date": "2026-01-05T10:00:00"},
    {"PK": "o#9", "SK": "p#1", "EntityType": "orderItem", "GSI1-PK": "p#1", "GSI1-SK": "2026-01-05T10:00:00",
     "GSI2-PK": "c#77", "GSI2-SK": "p#2026-01-05T10:00:00", "Quantity": "2", "Price": "20"},
    {"PK": "o#9", "SK": "p#2", "EntityType": "orderItem", "GSI1-PK": "p#2", "GSI1-SK": "2026-02-05T10:00:00",
     "GSI2-PK": "c#77", "GSI2-SK": "p#2026-02-05T10:00:00", "Quantity": "1", "Price": "8"},
    {"PK": "o#9", "SK": "i#30", "EntityType": "invoice", "GSI1-PK": "i#30", "GSI1-SK": "i#30", "GSI2-PK": "c#77",
     "GSI2-SK": "i#2026-01-06T08:00:00", "Amount": "48", "Date": "2026-01-06T08:00:00",
     "Detail": {"M": {"Payments": {"L": [_PAYMENT]}}}},
    {"PK": "o#9", "SK": "sh#4", "EntityType": "shipment", "GSI1-PK": "sh#4", "GSI1-SK": "sh#4", "GSI2-PK": "w#5",
     "GSI2-SK": "sh#4", "Address": _ADDRESS, "Type": "Express", "Date": "2026-01-07T08:00:00"},
    {"PK": "o#9", "SK": "shp#40", "EntityType": "shipmentItem", "GSI1-PK": "sh#4", "GSI1-SK": "p#1", "Quantity": "2"},
]  # fmt: skip


def fill(store: Store) -> None:
    """Store the items: what is written is what was read."""
    store.ensure_tables(shop)
    for each in ITEMS:
        item = {name: value if isinstance(value, dict) else {"S": value} for name, value in each.items()}
        (schema,) = [schema for schema in schemas_of(shop) if schema.matches(item)]
        entity = schema.decode(item)
        assert entity.item() == item
        store.put(entity)


def try_patterns(store: Store) -> None:
    """All sixteen access patterns, on items that another program has stored."""
    assert store.get(Customer.by_id("77")) == Customer(customer_id="77", email="mo@example.org", name="Mo")
    lamp = store.get_or_raise(Product.by_id("1"))
    assert (lamp.product_id, lamp.detail.name, lamp.price) == ("1", "Lamp", "20")
    assert store.get_or_raise(Warehouse.by_id("5")).address.city == "Zeist"
    assert [each.warehouse_id for each in store.query(WarehouseItem.of_product("1")).items] == ["5", "6"]
    details = store.collect(OrderDetails.of_order("9"))
    assert details is not None
    assert details.order == Order(order_id="9", customer_id="77", date="2026-01-05T10:00:00")
    assert (len(details.items), len(details.shipments), len(details.shipment_items)) == (2, 1, 1)
    ordered = store.query(OrderItem.of_order("9")).items
    assert [(each.product_id, each.customer_id) for each in ordered] == [("1", "77"), ("2", "77")]
    assert [each.invoice_id for each in store.query(Invoice.of_order("9")).items] == ["30"]
    assert [each.shipment_id for each in store.query(Shipment.of_order("9")).items] == ["4"]
    january = {"since": "2026-01-01", "until": "2026-01-31"}
    assert [each.order_id for each in store.query(OrderItem.of_product("1", **january)).items] == ["9"]
    invoice = store.get_or_raise(Invoice.by_id("30"))
    assert [payment.amount for payment in invoice.detail.payments] == [48]
    shipment = store.collect(ShipmentDetails.of_shipment("4"))
    assert shipment is not None
    assert [each.product_id for each in shipment.items] == ["1"]
    assert [each.shipment_id for each in store.query(Shipment.of_warehouse("5")).items] == ["4"]
    assert [each.product_id for each in store.query(WarehouseItem.of_warehouse("5")).items] == ["1"]
    assert store.query(Invoice.of_customer("77", **january)).items == [invoice]
    assert [each.product_id for each in store.query(OrderItem.of_customer("77", **january)).items] == ["1"]


def main() -> None:
    with Store.open() as store:
        fill(store)
        try_patterns(store)
        print(f"{len(ITEMS)} items of another program, {len(design.patterns)} access patterns")


if __name__ == "__main__":
    main()
