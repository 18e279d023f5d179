"""Where the secrets of a text are, and the text without them.

From each cue, tokens are looked at forwards and backwards, and what links them to the cue is kept track of:

    the password I use , Marigold77 , is rejected          I typed Kestrel_19 as my password
        └─cue──▶ NONE    PAUSE: odd enough, so a secret       LEAD ◀──────────────────┘

A secret that was found once is masked wherever it is said again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from tablewright.systems.servicedesk.masking.folded_text import fold
from tablewright.systems.servicedesk.masking.secret_candidates import REACH, Candidates, Link
from tablewright.systems.servicedesk.masking.secret_shapes import MASK, Shape, Tokens, shape_of
from tablewright.systems.servicedesk.masking.vocabulary import (
    ABOUT,
    ARTICLES,
    CHANGES,
    COPULAS,
    CUE_BEGINNINGS,
    CUES,
    DIGITS,
    FILLERS,
    LEADS,
    LONGEST_CUE,
    NEGATIONS,
    NEXT_ONE,
    NOW,
    OPEN_CODES,
    PASSWORD,
    PORTS,
    PRONOUNS,
    PUTS,
    THINGS,
    Cue,
)

__all__ = ["Masked", "mask"]

_ROUNDS = 4
_KINDS = ("password", "mfa_code", "device_serial")
_REPEATED = 8

# What may stand between a question for a secret and the answer.
_ANSWERS = COPULAS | FILLERS | LEADS | {"yes", "sure", "ok", "caller", ":", ",", "'", "si", "ja", "oui", "sim", "tak"}
# p4ssw0rd
_LEET = str.maketrans("013457", "oieast")
_SETTINGS = ("password", "passwd", "pwd", "passphrase", "passwort", "kennwort")
_IN_ADDRESS = re.compile(r"://[^/\s:@]{1,60}:([^/\s]{1,100})@")
_IMEI = re.compile(r"(?<![\w+-])\d{2}[ -]?\d{6}[ -]?\d{6}[ -]?\d(?![\w-])")
# What is a secret by its form: private keys, and tokens that begin with the name of who issues them.
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)", re.DOTALL
)
_TOKEN = re.compile(
    r"(?<![\w-])(?:eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"
    r"|gh[opsru]_[A-Za-z0-9]{36,}|github_pat_\w{22,}|glpat-[\w-]{20,}|xox[abprs]-[\w-]{10,}|[rs]k_live_\w{16,})"
)
_SENT_CODE = re.compile(r"(?<![\w-])[A-Z]{1,2}-\d{6}(?![\w-])")


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets, and their kinds."""

    text: str
    kinds: tuple[str, ...]


def mask(text: str) -> Masked:
    """Take secrets out of a text."""
    kinds: set[str] = set()
    # A secret can hide another one: the rest is searched again.
    for _ in range(_ROUNDS):
        spans = _spans(text)
        if not spans:
            break
        kinds.update(kind for _, _, kind in spans)
        parts: list[str] = []
        end = 0
        for begin, stop, _ in spans:
            if begin >= end:
                parts += [text[end:begin], MASK]
            end = max(end, stop)
        text = "".join([*parts, text[end:]])
    return Masked(text, tuple(kind for kind in _KINDS if kind in kinds))


class _Span(NamedTuple):
    begin: int
    end: int
    kind: str


def _spans(text: str) -> list[_Span]:
    """The secrets in a text, in order."""
    folded = fold(text)
    tokens = Tokens(folded)
    found = _Search(tokens).run()
    spans = [_Span(tokens.begins[begin], tokens.ends[end - 1], kind) for begin, end, kind in found]
    for match in _IN_ADDRESS.finditer(folded.text):
        if match[1] != MASK:
            spans.append(_Span(*match.span(1), "password"))
    for form in (_PRIVATE_KEY, _TOKEN):
        spans += [_Span(*match.span(), "password") for match in form.finditer(folded.text)]
    spans += [_Span(*match.span(), "device_serial") for match in _IMEI.finditer(folded.text)]
    return sorted(_Span(*folded.span(begin, end), kind) for begin, end, kind in spans)


class _Search:
    """Secrets as spans of tokens: (first, after the last, kind)."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.words = tokens.words
        self.candidates = Candidates(tokens)
        self.found: list[_Span] = []
        self.taken = bytearray(tokens.count)
        # By the first token of a cue.
        self.families: dict[int, str] = {}

    def run(self) -> list[_Span]:
        at = 0
        cues: list[tuple[int, int, Cue]] = []
        while at < self.tokens.count:
            cue_end, cue = self._cue(at)
            if cue is None:
                at += 1
            else:
                cues.append((at, cue_end, cue))
                self.families[at] = cue.family
                at = cue_end
        # A secret after its cue is more certain than one before it.
        waiting = []
        for begin, end, cue in cues:
            if not self.taken[begin] and not self._forward(end, cue):
                waiting.append((begin, end, cue))
        for begin, end, cue in waiting:
            if not self.taken[begin]:
                self._backward(begin, end, cue)
        self._sent_codes()
        self._repetitions()
        return self.found

    def _take(self, begin: int, end: int, kind: str) -> bool:
        if begin >= end or any(self.taken[begin : begin + 1]):
            return False
        self.found.append(_Span(begin, end, kind))
        self.taken[begin:end] = b"\1" * (end - begin)
        return True

    # -- cues -------------------------------------------------------------------------------------------------------

    def _cue(self, at: int) -> tuple[int, Cue | None]:
        """The longest name of a secret that begins here."""
        words, tokens = self.words, self.tokens
        word = words[at]
        if word not in CUE_BEGINNINGS and word.isalpha() and not word.endswith(_SETTINGS):
            # Most words: neither the beginning of a name nor one that is written in another way.
            return at, None
        if not word.isalpha() and CUES.get((word.translate(_LEET),)) == PASSWORD and not self._is_part(at, at + 1):
            return at + 1, PASSWORD
        if self._is_setting(at):
            return at + 1, PASSWORD
        for length in range(min(LONGEST_CUE, tokens.count - at), 0, -1):
            cue = CUES.get(tuple(words[at : at + length]))
            if cue is None:
                continue
            end = at + length
            if cue.family == "code" and self._is_open_code(at, end):
                continue
            if self._is_part(at, end) or (length == 1 and not self._is_cue(at, end, cue)):
                continue
            return end, cue
        return at, None

    def _is_setting(self, at: int) -> bool:
        """The name of a setting: DB_PASSWORD=..., "dbPassword": ..."""
        words = self.words
        if not words[at].endswith(_SETTINGS) or words[at] in _SETTINGS:
            return False
        after = words[at + 1 : at + 3]
        return bool(after) and (after[0] in (":", "=") or (after[0] in ('"', "'") and after[1:] in ([":"], ["="])))

    def _is_part(self, at: int, end: int) -> bool:
        """Whether it is part of a longer name: password-protected, passwords.example.org."""
        tokens, words = self.tokens, self.words
        if end + 1 < tokens.count and not tokens.gaps[end] and not tokens.gaps[end + 1] and words[end] in "-./@":
            return words[end + 1][0].isalnum() and not (words[end] == "-" and words[end + 1].isdecimal())
        return at > 0 and not tokens.gaps[at] and words[at - 1] in "./@"

    def _is_cue(self, at: int, end: int, cue: Cue) -> bool:
        """Words that mean other things as well are cues only where they are used as such."""
        word, after = self.words[at], self.words[end] if end < self.tokens.count else ""
        if word == "pass":
            return after in (":", "=", "'", "-") or after in COPULAS or after == ">"
        if word == "sn":
            return (
                self.tokens.text(at, end) == "SN"
                or after in (":", "#", "=")
                or self.candidates.serial(end, 6) is not None
            )
        if cue.family == "serial":
            return after not in THINGS and (not at or self.words[at - 1] not in PORTS)
        return True

    def _is_open_code(self, at: int, end: int) -> bool:
        """error code 1603, código de error 1603"""
        words = self.words
        if (at and words[at - 1] in OPEN_CODES) or (at > 1 and words[at - 1] == "-" and words[at - 2] in OPEN_CODES):
            return True
        place = end
        while place < min(end + 3, self.tokens.count) and words[place] in (
            "de",
            "di",
            "d",
            "'",
            "a",
            "of",
            "-",
            "del",
            "do",
        ):
            place += 1
        return place < self.tokens.count and words[place] in OPEN_CODES

    # -- forwards ---------------------------------------------------------------------------------------------------

    def _forward(self, cue_end: int, cue: Cue) -> bool:
        tokens, words = self.tokens, self.words
        link, at, spoken, doubt, answer = Link.NEXT, cue_end, 0, False, False
        thing = cue_end < tokens.count and words[cue_end] in THINGS and tokens.gaps[cue_end]
        broken = False
        while at < min(tokens.count, cue_end + REACH):
            if tokens.is_masked(at) or self.taken[at]:
                # Already masked; a list of codes continues after it.
                return link >= Link.NEXT
            word = words[at]
            if at > cue_end and self.families.get(at) == cue.family and (link < Link.CHANGE or word.isalpha()):
                return False
            if tokens.sentence_ends(at):
                if answer or thing:
                    return False
                answer, link, at = True, Link.NEXT, at + 1
                continue
            if tokens.line_before(at) and link < Link.NEXT:
                return False
            if not thing or spoken > 1:
                end = self.candidates.candidate(
                    at, cue, link, spoken=spoken, doubt=doubt or answer or thing, broken=broken, since=cue_end
                )
                if end is not None:
                    begin, stop = end
                    return self._take(begin, stop, cue.kind) and self._more(stop, cue)
            if answer and word not in _ANSWERS:
                return False
            link, broken = self._next_link(at, link, broken)
            if word in NEGATIONS or (link is Link.IS and doubt):
                doubt = True
            if word[0].isalnum() and link in (Link.NONE, Link.LEAD):
                spoken += 1
            at += 1
        return False

    def _more(self, at: int, cue: Cue) -> bool:
        """Take the others of several secrets: from Old1 to New2."""
        tokens = self.tokens
        while at < tokens.count - 1 and self.words[at] in NEXT_ONE:
            at += 1
            if self.words[at] in NEXT_ONE:
                continue
            begin, end = tokens.trimmed(at, tokens.piece_ends[at])
            if begin >= end or tokens.is_masked(begin):
                break
            shape = shape_of(tokens.text(begin, end))
            alike = shape is Shape.ODD or (shape is Shape.NUMBER and end == begin + 1 and len(self.words[begin]) > 3)
            if not alike or not self._take(begin, end, cue.kind):
                break
            at = end
        return True

    def _next_link(self, at: int, link: Link, broken: bool) -> tuple[Link, bool]:
        """The link between the cue and what follows a token."""
        tokens, words, word = self.tokens, self.words, self.words[at]
        before = words[at - 1]
        if word in (":", "="):
            inside = (
                not tokens.gaps[at]
                and before[-1:].isdecimal()
                and not tokens.gaps[at + 1]
                and words[at + 1].isdecimal()
            )
            return (Link.NONE if inside or broken else Link.SIGN), broken
        if word == ">":
            return Link.SIGN, broken
        if word in ("and", "but", "ma", "pero", "mais", "aber", "und", "ale", "mas", "because", "et", "y"):
            return Link.NONE, True
        if word in ('"', "'", "*"):
            return link, broken
        if word == "-" and not tokens.gaps[at + 1] and at + 1 < tokens.count and words[at + 1] == ">":
            return link, broken
        if word in ("-", "/") and not (tokens.gaps[at] and tokens.gaps[at + 1]):
            return min(link, Link.PAUSE), broken
        if word in (",", "(", "-", "/"):
            return max(
                Link.PAUSE, link if link >= Link.ROUGHLY and word == "," and before not in ABOUT else Link.PAUSE
            ), broken
        if word in COPULAS and (word != "s" or (before == "'" and (link is Link.NEXT or words[at - 2] in PRONOUNS))):
            if word in ("to", "es", "a") and link is not Link.NEXT and before in ("changed", "set", "reset"):
                return Link.CHANGE, broken
            if broken and before not in ("it", "that", "this", "now", "'", "c", "ora", "ahora", "jetzt"):
                return Link.NONE, broken
            return Link.IS, broken
        if link is Link.IS and word in NOW:
            return Link.IS, broken
        if word in CHANGES:
            return Link.CHANGE, broken
        if link in (Link.IS, Link.ROUGHLY) and word in FILLERS:
            return Link.ROUGHLY, broken
        if word in LEADS:
            return Link.LEAD, broken
        return Link.NONE, broken

    # -- backwards --------------------------------------------------------------------------------------------------

    def _backward(self, cue_begin: int, cue_end: int, cue: Cue) -> bool:
        tokens, words = self.tokens, self.words
        thing = cue_end < tokens.count and words[cue_end] in THINGS and tokens.gaps[cue_end]
        near, linked, at = True, False, cue_begin - 1
        # As far as the beginning of a piece that is all signs, but not of one without end.
        first = max(0, cue_begin - REACH)
        first = max(tokens.piece_begins[first], first - 2 * REACH)
        while at >= first:
            if self.taken[at] or tokens.is_masked(at) or tokens.sentence_ends(at) or tokens.line_before(at + 1):
                return False
            if self.families.get(at) == cue.family:
                return False
            word = words[at]
            if tokens.gaps[at] or not at or word in ('"', "'"):
                span = self._before(at, cue, near=near and linked and not thing)
                if span is not None:
                    return self._take(*span, cue.kind)
            if word in COPULAS or word in ("as", "for", "come", "como", "comme", "als", "jako", "-", "(", "come", ","):
                linked = True
            elif word in ("de", "di") and at == cue_begin - 1:
                linked = self._is_put(at)
            elif word not in FILLERS and word not in ABOUT and word not in LEADS and word not in DIGITS:
                # The rest of a piece is looked at from its beginning.
                near = near and (not word[0].isalnum() or word.isdecimal() or not tokens.gaps[at])
            at -= 1
        return False

    def _is_put(self, of: int) -> bool:
        """Whether what stands before "de" is a value that was put there: puse 'x' de clave."""
        begin = of - 1
        if begin in self.tokens.quotes:
            begin = self.tokens.quotes[begin]
        elif begin > 0:
            begin = self.tokens.piece_begins[begin]
        return begin > 0 and self.words[begin - 1] in PUTS

    def _before(self, at: int, cue: Cue, *, near: bool) -> tuple[int, int] | None:
        """The secret that begins at a token, if there is one before a cue."""
        tokens, words, family = self.tokens, self.words, cue.family
        if at in tokens.quotes:
            opening = tokens.quotes[at]
            return self.candidates.quoted(opening, Link.NEXT, 0) if opening < at and near else None
        lead = at > 0 and (words[at - 1] in LEADS or (words[at - 1] == "/" and at > 1))
        # I received the 774 031
        lead = lead or (at > 1 and words[at - 1] in ARTICLES and words[at - 2] in LEADS and words[at].isdecimal())
        if not words[at][0].isalnum() and words[at] not in ("(", "["):
            return None
        if family in ("serial", "sticker"):
            found = self.candidates.serial(at, 7 if family == "sticker" or not near else 4)
            if found is None or self.candidates.is_other(at):
                return None
            return found if any(map(str.isalpha, tokens.text(*found))) or near else None
        if family in ("code", "one-time", "pin", "message", "backup"):
            end, digits = tokens.number(at)
            least = 4 if near or family == "pin" else 6
            if least <= digits <= 10 and (near or lead or family in ("one-time",)) and not self.candidates.is_other(at):
                return (at, end) if shape_of(tokens.text(at, end)) is not Shape.KNOWN else None
            if family in ("message", "pin") or not near:
                return None
        begin, end = tokens.trimmed(at, tokens.piece_ends[at])
        if begin >= end or not (near or lead) or self.candidates.is_other(at):
            return None
        text = tokens.text(begin, end)
        shape = shape_of(text)
        if shape is Shape.ODD and len(text) >= 4 and (family != "code" or any(map(str.isdecimal, text))):
            return begin, end
        if shape is Shape.NUMBER and near and family == "password" and len(text) >= 4:
            return begin, end
        if (
            shape is Shape.WORD
            and near
            and lead
            and family == "password"
            and not self.candidates.is_about(begin)
            and len(text) > 3
        ):
            return begin, end
        return None

    # -- without a cue ----------------------------------------------------------------------------------------------

    def _sent_codes(self) -> None:
        """G-482913 is a code that was sent, unless it is the number of something."""
        tokens = self.tokens
        for at in range(tokens.count - 2):
            if self.words[at] == "g" and tokens.gaps[at] and not self.taken[at] and tokens.piece_ends[at] >= at + 3:
                end = at + 3
                if _SENT_CODE.fullmatch(tokens.text(at, end)) and not self.candidates.is_other(at):
                    self._take(at, end, "mfa_code")

    def _repetitions(self) -> None:
        """Mask every repetition of a secret that was found."""
        tokens = self.tokens
        known: dict[tuple[str, ...], str] = {}
        for begin, end, kind in self.found:
            text = tokens.text(begin, end)
            if (
                end - begin <= _REPEATED
                and len(text) >= 4
                and not (end - begin == 1 and self.candidates.is_about(begin))
            ):
                known[tuple(self.words[begin:end])] = kind
                joined = text.replace(" ", "").replace("-", "")
                if joined.isdecimal() and len(joined) >= 6:
                    known[(joined,)] = kind
        if not known:
            return
        lengths = sorted({len(words) for words in known}, reverse=True)
        for at in range(tokens.count):
            for length in lengths:
                if self.taken[at]:
                    break
                kind = known.get(tuple(self.words[at : at + length]), "")
                whole = at + length <= tokens.count and (tokens.gaps[at] or not self.words[at - 1][-1].isalnum())
                if kind and whole and not self.candidates.is_other(at):
                    self._take(at, at + length, kind)
