"""A channel that records what it is given."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tablewright.systems.engagement.configuration import Channel
from tablewright.systems.engagement.delivery.channels import AddressRefused, ChannelMessage
from tablewright.systems.engagement.model import Candidate


class Post:
    """A channel that keeps what it is given, or does what it is told instead."""

    def __init__(self) -> None:
        self.sent: list[ChannelMessage] = []
        # What is done instead of sending: it raises, or says why the address is refused.
        self.instead: Callable[[ChannelMessage], str | None] = lambda message: None

    def check(self, channel: Channel, attributes: Collection[str] | None) -> None:
        pass

    def lacks(self, channel: Channel, candidate: Candidate) -> str | None:
        return None

    def rendered(self, message: ChannelMessage) -> dict[str, str]:
        return {"to": message.candidate.customer_id}

    def send(self, message: ChannelMessage) -> None:
        refusal = self.instead(message)
        if refusal is not None:
            raise AddressRefused(refusal)
        self.sent.append(message)

    @property
    def customers(self) -> list[tuple[str, str]]:
        return [(each.channel.channel_id, each.candidate.customer_id) for each in self.sent]
