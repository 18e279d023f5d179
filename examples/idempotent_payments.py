"""Idempotent writes: a client that retries a request is answered as the first time, and nothing is done twice.

    python examples/idempotent_payments.py

It shows execute_once: the record of a request is committed in one transaction with what the request writes, so no crash
leaves one without the other. The bound of a field is a condition of that transaction: a balance is never below zero.
"""

from typing import Annotated, Any
from uuid import uuid4

from pydantic import Field

from tablewright.model import Entity, Get, Keys, Table, attr
from tablewright.store import Cancelled, Create, IdempotencyRecord, KeyMismatch, Outcome, Store, Update

bank = Table("bank", "PK", "SK", ttl="ttl")


class Account(Entity, table=bank):
    account_id: str
    balance: Annotated[int, Field(ge=0)] = 0

    keys = Keys(PK="ACCOUNT#{account_id}", SK="ACCOUNT")

    @Get(consistent=True)
    def by_id(self, account_id: str) -> None:
        """An account, as it is now."""


class Payment(Entity, table=bank):
    account_id: str
    payment_id: str
    amount: int

    keys = Keys(PK="ACCOUNT#{account_id}", SK="PAYMENT#{payment_id}")


class HandledRequest(IdempotencyRecord, table=bank):
    """What a request was answered with; DynamoDB deletes it after a day."""

    keys = Keys(PK="REQUEST#{idempotency_key}", SK="REQUEST")


def pay(store: Store, idempotency_key: str, account_id: str, amount: int) -> Any:
    """Takes an amount from an account, once for each key."""

    def work() -> Outcome:
        payment = Payment(account_id=account_id, payment_id=str(uuid4()), amount=amount)
        withdrawal = Update(Account.by_id(account_id), attr(Account.balance).add(-amount))
        return Outcome({"payment": payment.payment_id}, Create(payment), withdrawal)

    request = {"account": account_id, "amount": amount}
    return store.execute_once(HandledRequest, idempotency_key, request, work)


def main() -> None:
    with Store.open() as store:
        store.ensure_tables(bank)
        store.create(Account(account_id="ada", balance=100))

        first = pay(store, "key-1", "ada", 70)
        again = pay(store, "key-1", "ada", 70)  # the client did not see the first response
        assert first == again

        try:
            pay(store, "key-1", "ada", 10)
        except KeyMismatch:
            print("key-1 belongs to another request")
        try:
            pay(store, "key-2", "ada", 70)
        except Cancelled:  # the transaction, by the bound of the balance
            print("there is not enough for key-2")

        account = store.get(Account.by_id("ada"))
        assert account is not None
        assert account.balance == 30
        print(f"ada has {account.balance} left")


if __name__ == "__main__":
    main()
