"""Demo data: current tickets of three customers, with conversations, and tickets of the two weeks before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random

from tablewright.runtime import OnProgress, Responder, Runtime
from tablewright.runtime.idempotency import UNKEYED
from tablewright.runtime.identity.actor import Actor, acting
from tablewright.systems.support.model import Priority, Status, Ticket
from tablewright.systems.support.service import Support

__all__ = ["fill"]

_SYMPTOMS = (
    ("cust_1", "The pump stops after ten minutes", Priority.HIGH),
    ("cust_1", "Display shows E42 after the update", Priority.MEDIUM),
    ("cust_2", "No reading from the second sensor", Priority.LOW),
    ("cust_2", "The controller restarts at night", Priority.CRITICAL),
    ("cust_3", "How do I reset the filter counter?", Priority.LOW),
)
_PAST = (
    "The fan is louder than before",
    "The app does not find the device",
    "Water pressure is too low",
    "The door contact reports open",
    "Invoices show the wrong address",
    "The battery lasts only two hours",
    "No alarm when the tank is full",
    "The update ends with error 17",
)
_OPERATORS = ("op_9", "op_4", "op_1")
# Nobody signs in as this customer, so there is room for as many as the dashboard needs.
_PAST_CUSTOMER = "cust_9"
_PAST_DAYS = 14


def _ticket_id(ticket: Ticket) -> str:
    return ticket.ticket_id


async def fill(runtime: Runtime, support: Support, on_progress: OnProgress) -> None:
    """Fill in the demo data; what an interrupted fill has left stays unchanged."""
    total = len(_SYMPTOMS) + 2 * _PAST_DAYS
    token = acting.set(Actor("answers", ""))
    try:
        await _fill_past(runtime, support, lambda done: on_progress("tickets", done, total))
        for number in range(1, len(_SYMPTOMS) + 1):
            await _fill_present(support, number)
            on_progress("tickets", 2 * _PAST_DAYS + number, total)
    finally:
        acting.reset(token)


async def _fill_present(support: Support, number: int) -> None:
    customer, symptom, priority = _SYMPTOMS[number - 1]
    responder = Responder(_ticket_id, "demo", f"demo-{number}")
    made = await support.create_ticket(customer, symptom, responder, priority=priority)
    ticket = await support.ticket(made, consistent=True)
    if ticket.status is not Status.NEW or number == len(_SYMPTOMS):
        return
    await support.assign(made, "op_9", by="op_9")
    await support.change_status(made, Status.PROCESSING, expected=Status.NEW, by="op_9")
    if number == 1:
        await support.send_message(made, "Does it stop at once, or slowly?", UNKEYED, customer_id=customer, by="op_9")
        await support.send_message(made, "Slowly, and then it is hot.", UNKEYED, customer_id=customer, by=customer)
        await support.send_message(
            made,
            "Then the filter is full. Clean it, and press Reset for ten seconds.",
            UNKEYED,
            customer_id=customer,
            by="op_9",
        )
        await support.change_status(made, Status.READY, expected=Status.PROCESSING, by="op_9")
        await support.feedback.give(made, UNKEYED, about="op_9", rating=5, was_helpful=True, by=customer)
        await support.feedback.give(made, UNKEYED, about=None, rating=4, was_helpful=True, by="op_9")
    if number == 2:
        await support.add_note(made, "E42 has been known since 4.2; the fix is being tested.", UNKEYED, by="op_9")
        await support.send_message(
            made, "It only happens with the new firmware. Can I go back?", UNKEYED, customer_id=customer, by=customer
        )
        log = "\n".join(
            f"2026-11-16T0{hour}:{minute:02}:00Z controller E42 retry {minute}"
            for hour in range(4)
            for minute in range(60)
        )
        await support.attach(made, log)
    if number == 4:
        await support.escalate(made, reason="It is a safety device", engineer="eng_7", by="op_9")


async def _fill_past(runtime: Runtime, support: Support, on_done: Callable[[int], None]) -> None:
    """Tickets of the last two weeks, each at its time: the same use cases, with a clock in the past."""
    if (await support.of_customer(_PAST_CUSTOMER, limit=1)).items:
        return
    chance, now = Random(19), runtime.clock()
    at = [0.0]
    past = Support(runtime.store, lambda: at[0])
    for number in range(2 * _PAST_DAYS):
        opened = now - timedelta(hours=12 * number + 1 + 8 * chance.random()).total_seconds()
        takes = timedelta(minutes=chance.choice((25, 70, 140, 240))).total_seconds() * (0.6 + chance.random())
        symptom, priority = chance.choice(_PAST), chance.choice(list(Priority))
        operator = chance.choice(_OPERATORS)
        at[0] = opened
        ticket_id = await past.create_ticket(_PAST_CUSTOMER, symptom, Responder(_ticket_id, "demo"), priority=priority)
        at[0] = min(now, opened + takes / 3)
        await past.change_status(ticket_id, Status.PROCESSING, expected=Status.NEW, by=operator)
        if opened + takes < now:
            at[0] = opened + takes
            await past.change_status(ticket_id, Status.READY, expected=Status.PROCESSING, by=operator)
            if chance.random() < 0.7:
                rating = chance.choice((3, 4, 4, 5, 5, 5))
                await past.feedback.give(ticket_id, UNKEYED, about=operator, rating=rating, by=_PAST_CUSTOMER)
        on_done(number + 1)
