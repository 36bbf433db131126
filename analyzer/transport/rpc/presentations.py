"""Keeps the presentation contexts of one DCERPC association, and finds the one that a call belongs to (C706 12.6.4.3, 12.6.4.4).

A presentation context goes through these states, by its context id:

    state      input                                          next state
    -          bind or alter_context that offers it           OFFERED (under the PDU's call id)
    OFFERED    bind_ack or alter_context_resp, result 0       ACCEPTED: calls may use it
    OFFERED    the same, another result; bind_nak, a fault    REFUSED
    OFFERED    the end of the channel                         unknown: emitted as such
    OFFERED    more than `_MAX_OFFERS` offers without answer  forgotten, the oldest first; calls may use it
    ACCEPTED   bind or alter_context that offers it again     ACCEPTED as before, until the answer
    ACCEPTED   accepted again, for another interface          ACCEPTED as before, if a call used it before; else unknown
    -          an answer whose offer was not met yet          kept until the offer comes (frames swapped by the capture)

Servers refuse to give a context id another interface, and they answer no call of a context that they did not accept. So if captured
bytes say otherwise, one of the numbers is wrong. What the other numbers leave open is not guessed.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from analyzer.transport.rpc.pdu import Offer, Syntax
from analyzer.transport.rpc.rpc_names import NDR64, is_feature_negotiation, syntax_name


class Presentation(Struct, frozen=True):
    """The presentation context of an association, as far as captured. `transfer` is None if the answer was not captured."""

    abstract: Syntax
    transfer: Syntax | None

    @property
    def is_ndr64(self) -> bool:
        return self.transfer is not None and self.transfer.uuid == NDR64


class Presentations(dict[int, Presentation | None]):
    """The presentation contexts of one association by their ids. None: the id stands for several interfaces.

    `header_signing`: whether the bind offers to sign headers, None if it was not captured. `has_loss`: something else of the
    association may be missing. `used` are the ids of calls that the server carried out.
    """

    def __init__(self) -> None:
        super().__init__()
        self.header_signing: bool | None = None
        self.has_loss = False
        self.used: set[int] = set()
        self._accepted: dict[int, Presentation] = {}
        # Those that were accepted under the id of another interface.
        self._displaced: list[Presentation] = []

    def offer(self, offers: Iterable[Offer]) -> None:
        """Notes the presentation contexts that one bind or alter_context offers."""
        own: dict[int, Syntax] = {}
        for offer in offers:
            if not is_features(offer):
                self.setdefault(offer.context_id, Presentation(offer.abstract, only_transfer(offer)))
                if own.setdefault(offer.context_id, offer.abstract) != offer.abstract:
                    self[offer.context_id] = None

    def accept(self, offer: Offer, transfer: Syntax) -> str | None:
        """Notes that the server accepted a presentation context with this transfer syntax. Returns what is wrong with that."""
        at, wrong = offer.context_id, None
        if offer.transfer and all(one.uuid != transfer.uuid for one in offer.transfer):
            wrong = f"transfer_syntax: {syntax_name(transfer.uuid)} was not offered for presentation context {at}"
        new = Presentation(offer.abstract, transfer if wrong is None else only_transfer(offer))
        former = self._accepted.get(at)
        if former is None or former.abstract == new.abstract:
            self._accepted[at] = self[at] = new
            return wrong
        self._displaced.append(new)
        if at not in self.used:
            self[at] = None
        return f"p_cont_id: presentation context {at} is accepted for a second interface"

    def of_call(self, asked: int, answered: int | None) -> tuple[Presentation | None, str | None]:
        """Returns the presentation context of a call, and what is wrong with the ids that its request and its answer name.
        `answered` is None if the server did not carry out the call."""
        found = {one: None for at in (asked, answered) if at is not None and (one := self.get(at)) is not None}
        wrong = None
        if answered is not None and answered != asked:
            wrong = f"the request names presentation context {asked}, its answer context {answered}"
            if len(found) > 1:
                return None, f"{wrong}: one of the two is wrong"
        elif not found and answered is not None and (only := self._only) is not None:
            return (
                only,
                f"no bind offers presentation context {asked}; of what was accepted only this interface can be meant",
            )
        return next(iter(found), None), wrong

    @property
    def _only(self) -> Presentation | None:
        """The only presentation context that a call can belong to whose context id was not accepted."""
        others = self._displaced or set(self._accepted.values())
        is_sure = self.header_signing is not None and not self.has_loss and None not in self.values()
        return next(iter(others)) if is_sure and len(others) == 1 else None


def is_features(offer: Offer) -> bool:
    """Whether an offer of a bind is bind-time feature negotiation ([MS-RPCE] 3.3.1.5.3), which only looks like a presentation
    context."""
    return any(is_feature_negotiation(syntax.uuid) for syntax in offer.transfer)


def only_transfer(offer: Offer) -> Syntax | None:
    """Returns the transfer syntax that a bind offers for a presentation context, if it is the only one."""
    return offer.transfer[0] if len(offer.transfer) == 1 else None
