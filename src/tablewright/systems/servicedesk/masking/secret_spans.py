"""Where the secrets of a text are, and the text without them.

From each cue, tokens are looked at forwards and backwards, and what links them to the cue is kept track of:

    the password I use , Marigold77 , is rejected          I typed Kestrel_19 as my password
        └─cue──▶ NONE    PAUSE: odd enough, so a secret       LEAD ◀──────────────────┘

A secret that was found once is masked wherever it is said again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from tablewright.systems.servicedesk.masking.folded_text import fold
from tablewright.systems.servicedesk.masking.secret_shapes import MASK, Shape, Tokens, is_serial, shape_of
from tablewright.systems.servicedesk.masking.vocabulary import (
    ABOUT,
    ABOUT_ENDINGS,
    BEFORE_NUMBERS,
    CHANGES,
    COPULAS,
    CUES,
    DIGITS,
    FILLERS,
    LEADS,
    LONGEST_CUE,
    NEGATIONS,
    NEXT_ONE,
    NOW,
    OPEN_CODES,
    OTHERS,
    PASSWORD,
    PORTS,
    PREPOSITIONS,
    PRONOUNS,
    SPELLED,
    THINGS,
    Cue,
)

__all__ = ["Masked", "mask"]

# Tokens that are looked at from a cue.
_REACH = 16
_PHRASE_REACH = 30
_ROUNDS = 4
_KINDS = ("password", "mfa_code", "device_serial")
_REPEATED = 8

# What may stand between a question for a secret and the answer.
_ANSWERS = COPULAS | FILLERS | LEADS | {"yes", "sure", "ok", "caller", ":", ",", "'", "si", "ja", "oui", "sim", "tak"}
# p4ssw0rd
_LEET = str.maketrans("013457", "oieast")
_IN_ADDRESS = re.compile(r"://[^/\s:@]{1,60}:([^/\s]{1,100})@")
_IMEI = re.compile(r"(?<![\w+-])\d{2}[ -]?\d{6}[ -]?\d{6}[ -]?\d(?![\w-])")
_SENT_CODE = re.compile(r"(?<![\w-])[A-Z]{1,2}-\d{6}(?![\w-])")
_GERMAN_ABOUT = re.compile(
    r"(?:ab|an|auf|aus|ein|zu|zuruck|weg|un)?ge\w{2,20}(?:t|en)|(?:ver|ent|zer|un|ab)\w{3,20}(?:t|en)"
)


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets, and of what kinds they were."""

    text: str
    kinds: tuple[str, ...]


def mask(text: str) -> Masked:
    """Take secrets out of a text."""
    kinds: set[str] = set()
    # A secret can hide another one: what is left is looked through again.
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
    spans += [_Span(*match.span(), "device_serial") for match in _IMEI.finditer(folded.text)]
    return sorted(_Span(*folded.span(begin, end), kind) for begin, end, kind in spans)


class _Link(IntEnum):
    """What links a candidate to its cue, from the weakest."""

    NONE = 0
    PAUSE = 1
    LEAD = 2
    NEXT = 3
    ROUGHLY = 4
    CHANGE = 5
    IS = 6
    SIGN = 7


class _Search:
    """Secrets as spans of tokens: (first, behind the last, kind)."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.words = tokens.words
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
        # What follows its cue is surer than what stands before it.
        waiting = []
        for begin, end, cue in cues:
            if not self.taken[begin] and not self._forward(begin, end, cue):
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
        if (
            not words[at].isalpha()
            and CUES.get((words[at].translate(_LEET),)) == PASSWORD
            and not self._is_part(at, at + 1)
        ):
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
            return self.tokens.text(at, end) == "SN" or after in (":", "#") or self._serial(end, 6) is not None
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

    def _forward(self, cue_begin: int, cue_end: int, cue: Cue) -> bool:
        tokens, words = self.tokens, self.words
        link, at, said, doubt, answer = _Link.NEXT, cue_end, 0, False, False
        thing = cue_end < tokens.count and words[cue_end] in THINGS and tokens.gaps[cue_end]
        broken = False
        while at < min(tokens.count, cue_end + _REACH):
            if tokens.is_masked(at) or self.taken[at]:
                # What is already out; a list of codes goes on behind it.
                return link >= _Link.NEXT
            word = words[at]
            if at > cue_end and self.families.get(at) == cue.family and (link < _Link.CHANGE or word.isalpha()):
                return False
            if tokens.sentence_ends(at):
                if answer or thing:
                    return False
                answer, link, at = True, _Link.NEXT, at + 1
                continue
            if tokens.line_before(at) and link < _Link.NEXT:
                return False
            if not thing or said > 1:
                end = self._candidate(
                    at, cue, link, said=said, doubt=doubt or answer or thing, broken=broken, since=cue_end
                )
                if end is not None:
                    begin, stop = end
                    return self._take(begin, stop, cue.kind) and self._more(stop, cue)
            if answer and word not in _ANSWERS:
                return False
            link, broken = self._next_link(at, link, said, broken)
            if word in NEGATIONS or (link is _Link.IS and doubt):
                doubt = True
            if word[0].isalnum() and link in (_Link.NONE, _Link.LEAD):
                said += 1
            at += 1
        return False

    def _more(self, at: int, cue: Cue) -> bool:
        """Take the other ones of several secrets: from Old1 to New2."""
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

    def _next_link(self, at: int, link: _Link, said: int, broken: bool) -> tuple[_Link, bool]:
        """What links what follows a token to the cue."""
        tokens, words, word = self.tokens, self.words, self.words[at]
        before = words[at - 1]
        if word in (":", "="):
            inside = (
                not tokens.gaps[at]
                and before[-1:].isdecimal()
                and not tokens.gaps[at + 1]
                and words[at + 1].isdecimal()
            )
            return (_Link.NONE if inside or broken else _Link.SIGN), broken
        if word == ">":
            return _Link.SIGN, broken
        if word in ("and", "but", "ma", "pero", "mais", "aber", "und", "ale", "mas", "because", "et", "y"):
            return _Link.NONE, True
        if word in ('"', "'", "*"):
            return link, broken
        if word == "-" and not tokens.gaps[at + 1] and at + 1 < tokens.count and words[at + 1] == ">":
            return link, broken
        if word in ("-", "/") and not (tokens.gaps[at] and tokens.gaps[at + 1]):
            return min(link, _Link.PAUSE), broken
        if word in (",", "(", "-", "/"):
            return max(
                _Link.PAUSE, link if link >= _Link.ROUGHLY and word == "," and before not in ABOUT else _Link.PAUSE
            ), broken
        if word in COPULAS and (word != "s" or (before == "'" and (link is _Link.NEXT or words[at - 2] in PRONOUNS))):
            if word in ("to", "es", "a") and link is not _Link.NEXT and before in ("changed", "set", "reset"):
                return _Link.CHANGE, broken
            if broken and before not in ("it", "that", "this", "now", "'", "c", "ora", "ahora", "jetzt"):
                return _Link.NONE, broken
            return _Link.IS, broken
        if link is _Link.IS and word in NOW:
            return _Link.IS, broken
        if word in CHANGES:
            return _Link.CHANGE, broken
        if link in (_Link.IS, _Link.ROUGHLY) and word in FILLERS:
            return _Link.ROUGHLY, broken
        if word in LEADS:
            return _Link.LEAD, broken
        return _Link.NONE, broken

    # -- candidates -------------------------------------------------------------------------------------------------

    def _candidate(
        self, at: int, cue: Cue, link: _Link, *, said: int, doubt: bool, broken: bool, since: int
    ) -> tuple[int, int] | None:
        """The secret that begins at a token, if there is one behind this link."""
        tokens, family = self.tokens, cue.family
        if family in ("serial", "sticker"):
            return self._serial_behind(at, family, link, since)
        if at in tokens.quotes and tokens.quotes[at] > at:
            return self._quoted(at, link, said) if family != "message" else None
        if not tokens.gaps[at] and link not in (_Link.SIGN, _Link.PAUSE, _Link.NEXT):
            return None
        if not tokens.gaps[at] and self.words[at] in (":", "=", ",", ")", ">", "'", '"', ";", "."):
            return None
        if self.words[at] in ("(", ":", "=", ",", '"', "'", "-", "/", "<", ">", "*") and tokens.gaps[at + 1]:
            return None
        if family in ("code", "one-time", "message", "pin", "backup"):
            number = self._code(at, family, link, since)
            if number is not None:
                return number
        if family in ("message",):
            return None
        return self._password(at, family, link, said=said, doubt=doubt, broken=broken)

    def _code(self, at: int, family: str, link: _Link, since: int) -> tuple[int, int] | None:
        tokens = self.tokens
        end, digits = tokens.number(at)
        least = 4 if family in ("pin", "code", "one-time", "backup") and link >= _Link.NEXT else 6
        if family == "pin" or (link in (_Link.PAUSE, _Link.LEAD) and family != "message"):
            least = 4
        most = 100 if family == "backup" or end - at > 3 else 10
        if not least <= digits <= most or self._is_other(at, since, joined=link >= _Link.IS):
            return None
        text = tokens.text(at, end)
        if shape_of(text) is Shape.KNOWN and "-" not in text and " " not in text:
            return None
        if family != "pin" and digits == 4 and text[:2] in ("19", "20") and link < _Link.IS:
            return None
        if link is _Link.NONE and (family == "pin" or (family == "code" and digits < 6)):
            return None
        return at, self._spelled(end)

    def _is_other(self, at: int, since: int = 0, *, joined: bool = False) -> bool:
        """Whether a number is said to be of something else: my order is 4482913; not: the PIN for my phone is 4711."""
        words = self.words
        if joined and any(word in PREPOSITIONS for word in words[since:at]):
            return False
        for place in range(at - 1, max(since - 1, at - 6), -1):
            word = words[place]
            if word in OTHERS:
                return True
            if word not in COPULAS and word not in BEFORE_NUMBERS:
                return False
        return False

    def _quoted(self, at: int, link: _Link, said: int) -> tuple[int, int] | None:
        tokens, close = self.tokens, self.tokens.quotes[at]
        inner = self.words[at + 1 : close]
        if not inner or MASK in inner or (link is _Link.NONE and said > 3):
            return None
        if any((word,) in CUES for word in inner) and shape_of(tokens.text(at + 1, close)) is not Shape.ODD:
            return None
        if all(word in ABOUT or word in THINGS for word in inner):
            return None
        return at + 1, close

    def _password(
        self, at: int, family: str, link: _Link, *, said: int, doubt: bool, broken: bool
    ) -> tuple[int, int] | None:
        tokens = self.tokens
        begin, end = tokens.trimmed(at, self._piece_end(at))
        if begin >= end:
            return None
        text = tokens.text(begin, end)
        shape = shape_of(text)
        if family == "phrase" and link >= _Link.IS:
            return at, self._rest(at)
        if family == "credentials":
            return self._second(at) if link >= _Link.IS else None
        if family == "password" and shape in (Shape.WORD, Shape.ODD) and link >= _Link.IS and not doubt:
            rest = self._words_to_the_end(at)
            if rest is not None:
                return at, rest
        if shape is Shape.WORD:
            return self._word(at, begin, end, text, link, doubt=doubt or family not in ("password", "key"))
        if shape is Shape.KNOWN:
            sure = family == "password" and link >= _Link.IS and not doubt and not text.isalpha()
            return (begin, end) if sure and not text[-1].isalpha() and "://" not in text else None
        if shape is Shape.NUMBER:
            if family not in ("password", "key") or self._is_other(at):
                return None
            stop, digits = tokens.number(at)
            enough = digits >= 4 and (link >= _Link.IS or link is _Link.NEXT or (digits >= 6 and link >= _Link.PAUSE))
            return (at, stop) if enough else None
        if shape is not Shape.ODD:
            return None
        if len(text) < 4 and link < _Link.IS:
            return None
        if family in ("code", "one-time") and (link < _Link.ROUGHLY or not any(map(str.isdecimal, text))):
            return None
        if family == "pin" and link < _Link.NEXT:
            return None
        if link in (_Link.NONE,) or (link is _Link.LEAD and self._is_other(at)):
            return None
        if link is _Link.PAUSE and not self._enclosed(begin, end):
            return None
        if link in (_Link.CHANGE, _Link.LEAD) and broken and self.words[at - 1] in ("in", "a", "on"):
            return None
        if (
            link is _Link.CHANGE
            and self.words[at - 1] in ("in", "a", "na", "con", "mit", "as", "of")
            and self._is_account(begin, end)
        ):
            return None
        stop = self._spelled(end)
        while family == "backup" and stop < tokens.count and self._is_listed(stop):
            stop = tokens.trimmed(stop, tokens.piece_ends[stop])[1] if self.words[stop] != "," else stop + 1
        return begin, stop

    def _is_listed(self, at: int) -> bool:
        """Whether another code follows in a list of them."""
        place = at + 1 if self.words[at] == "," and at + 1 < self.tokens.count else at
        return not self.tokens.is_masked(place) and shape_of(
            self.tokens.text(*self.tokens.trimmed(place, self.tokens.piece_ends[place]))
            if self.words[place].isalnum()
            else ""
        ) in (Shape.ODD, Shape.NUMBER)

    def _is_account(self, begin: int, end: int) -> bool:
        """jdoe42: letters, then digits, all small."""
        text = self.tokens.text(begin, end)
        return text.isalnum() and text == text.lower()

    def _enclosed(self, begin: int, end: int) -> bool:
        """Whether a pause is before a candidate, and another one behind it."""
        after = self.words[end] if end < self.tokens.count else "."
        before = self.words[begin - 1] if begin else ","
        return before in ("-", "(", "/") or not after[0].isalnum() or after in COPULAS

    def _piece_end(self, at: int) -> int:
        """Where a value ends: with its piece, or with the element of a document that it is in."""
        end = self.tokens.piece_ends[at]
        if at and self.words[at - 1] == ">" and not self.tokens.gaps[at]:
            for place in range(at, min(end - 1, at + _REACH)):
                if self.words[place] == "<" and self.words[place + 1] == "/":
                    return place
        return end

    def _is_about(self, at: int) -> bool:
        """Whether a word says something of a password."""
        word = self.words[at]
        if word in ABOUT or word in NEGATIONS or word in COPULAS or word in NOW or (word,) in CUES:
            return True
        original = self.tokens.folded.original[
            slice(*self.tokens.folded.span(self.tokens.begins[at], self.tokens.ends[at]))
        ]
        return (
            (word.endswith(ABOUT_ENDINGS) and len(word) > 4)
            or original.lower().endswith(("é", "ée", "és", "ées"))
            or _GERMAN_ABOUT.fullmatch(word) is not None
        )

    def _word(self, at: int, begin: int, end: int, text: str, link: _Link, *, doubt: bool) -> tuple[int, int] | None:
        """A word that could be any word is a secret only where it is named as one."""
        tokens, words = self.tokens, self.words
        in_brackets = link is _Link.PAUSE and words[at - 1] == "(" and end < tokens.count and words[end] == ")"
        if in_brackets and not doubt and not self._is_about(begin) and len(text) > 3:
            return begin, end
        if doubt or link < _Link.CHANGE or len(text) < 3 or self._is_about(begin) or "'" in text:
            return None
        if link is _Link.CHANGE and ((words[at - 1] != "to" and words[at - 1] != "be") or words[begin] in LEADS):
            return None
        stop = self._spelled(end)
        if stop == end < tokens.count and link is not _Link.SIGN:
            after = words[end]
            if after[0].isalnum() and not (after in ABOUT or after in LEADS) and not tokens.line_before(end):
                return None
        return begin, stop

    def _spelled(self, end: int) -> int:
        """Where a secret ends that goes on in letters and digits that are spelled."""
        tokens, words = self.tokens, self.words
        place, sure = end, False
        while place < min(tokens.count, end + 40):
            word = words[place]
            if (
                not tokens.gaps[place]
                or tokens.line_before(place)
                or not (word in SPELLED or (len(word) == 1 and word.isalnum()))
            ):
                break
            # One letter is a word in many languages.
            sure = (
                sure
                or (word in SPELLED and word not in ("at", "um", "un", "point", "punto"))
                or word.isdecimal()
                or place > end + 1
            )
            place += 1
        return place if sure else end

    def _words_to_the_end(self, at: int) -> int | None:
        """Where a secret of several words ends, which are the rest of the clause."""
        tokens, words = self.tokens, self.words
        place = at
        while place < min(tokens.count, at + 9):
            word = words[place]
            if (
                not word[0].isalnum()
                or tokens.line_before(place)
                or (place > at and (word in ABOUT or (word,) in CUES))
            ):
                break
            place += 1
        over = place == tokens.count or words[place] in (".", ",", ";", "!", "?") or tokens.line_before(place)
        enough = 3 if not self._is_about(at) else 4
        if any(self._is_about(each) for each in range(at + 1, place)):
            return None
        return place if over and enough <= place - at <= 8 and all(tokens.gaps[at:place]) else None

    def _rest(self, at: int) -> int:
        """The end of a clause."""
        tokens, words = self.tokens, self.words
        place = at
        while place < min(tokens.count, at + _PHRASE_REACH):
            word = words[place]
            last = place + 1 >= tokens.count
            if word in (",", ";") or tokens.sentence_ends(place) or tokens.is_masked(place):
                break
            if place > at and (
                tokens.line_before(place) or word in ("but", "because", "ma", "pero", "mais", "aber", "ale", "mas")
            ):
                break
            if (
                word in ("and", "so", "e", "y", "et", "und", "i")
                and not last
                and words[place + 1] in ABOUT
                and words[place + 1] != "the"
            ):
                break
            place += 1
        return tokens.trimmed(at, place)[1]

    def _second(self, at: int) -> tuple[int, int] | None:
        """In a name and a password, the password: bob hunter2, bob / hunter2, bob/hunter2."""
        tokens, words = self.tokens, self.words
        if self._is_about(at):
            return None
        end = tokens.piece_ends[at]
        for place in range(at, min(end - 1, at + _REACH)):
            if words[place] in ("/", ":", "|") and place > at:
                return place + 1, tokens.trimmed(place + 1, end)[1]
        place = end
        while place < tokens.count and words[place] in (
            "/",
            "|",
            ",",
            "and",
            ":",
            "-",
            "con",
            "e",
            "y",
            "et",
            "und",
            "i",
        ):
            place += 1
        if place < tokens.count and not tokens.is_masked(place) and tokens.trimmed(at, end)[1] == end:
            begin, stop = tokens.trimmed(place, tokens.piece_ends[place])
            if begin < stop and words[begin] not in ABOUT:
                return begin, stop
        begin, stop = tokens.trimmed(at, end)
        return (begin, stop) if begin < stop and shape_of(tokens.text(begin, stop)) is Shape.ODD else None

    # -- serials ----------------------------------------------------------------------------------------------------

    def _serial(self, at: int, least: int) -> tuple[int, int] | None:
        tokens, words = self.tokens, self.words
        if at >= tokens.count or not words[at][0].isalnum() or tokens.is_masked(at):
            return None
        begin, end = tokens.trimmed(at, tokens.piece_ends[at])
        if begin >= end or not is_serial(tokens.text(begin, end), least):
            return None
        # In groups: CN 0R1X2 48220
        while end < tokens.count and tokens.gaps[end] and any(map(str.isdecimal, words[end])) and words[end].isalnum():
            group = tokens.text(end, end + 1)
            if (
                tokens.piece_ends[end] != end + 1
                or len(group) > 6
                or len(group) < 2
                or group != group.upper()
                or end - begin > 8
            ):
                break
            end += 1
        return begin, end

    def _serial_behind(self, at: int, family: str, link: _Link, since: int) -> tuple[int, int] | None:
        tokens = self.tokens
        if at in tokens.quotes and tokens.quotes[at] > at and family == "serial" and link >= _Link.NEXT:
            return self._quoted(at, link, 0)
        if not tokens.gaps[at] and link not in (_Link.SIGN, _Link.NEXT, _Link.PAUSE):
            return None
        least = 7 if family == "sticker" else 4 if link >= _Link.NEXT else 6
        found = self._serial(at, least)
        if found is not None:
            text = tokens.text(*found)
            letters = any(map(str.isalpha, text))
            if self._is_other(at, since, joined=link >= _Link.IS) or (
                family == "sticker" and not letters and len(text) < 9
            ):
                return None
            return found if letters or link is not _Link.NONE else None
        if family == "serial" and link >= _Link.NEXT:
            end = self._spelled(at)
            if end - at >= 4:
                return at, end
        return None

    # -- backwards --------------------------------------------------------------------------------------------------

    def _backward(self, cue_begin: int, cue_end: int, cue: Cue) -> bool:
        tokens, words = self.tokens, self.words
        thing = cue_end < tokens.count and words[cue_end] in THINGS and tokens.gaps[cue_end]
        near, linked, at = True, False, cue_begin - 1
        while at >= max(0, cue_begin - _REACH):
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
            elif word not in FILLERS and word not in ABOUT and word not in LEADS and word not in DIGITS:
                # The rest of a piece is looked at from its beginning.
                near = near and (not word[0].isalnum() or word.isdecimal() or not tokens.gaps[at])
            at -= 1
        return False

    def _before(self, at: int, cue: Cue, *, near: bool) -> tuple[int, int] | None:
        """The secret that begins at a token, if there is one before a cue."""
        tokens, words, family = self.tokens, self.words, cue.family
        lead = at > 0 and (words[at - 1] in LEADS or (words[at - 1] == "/" and at > 1))
        if at in tokens.quotes:
            opening = tokens.quotes[at]
            return self._quoted(opening, _Link.NEXT, 0) if opening < at and (near or (lead and opening == at)) else None
        if not words[at][0].isalnum() and words[at] not in ("(", "["):
            return None
        if family in ("serial", "sticker"):
            found = self._serial(at, 7 if family == "sticker" or not near else 4)
            if found is None or self._is_other(at):
                return None
            return found if any(map(str.isalpha, tokens.text(*found))) or near else None
        if family in ("code", "one-time", "pin", "message", "backup"):
            end, digits = tokens.number(at)
            least = 4 if near or family == "pin" else 6
            if least <= digits <= 10 and (near or lead or family in ("one-time",)) and not self._is_other(at):
                return (at, end) if shape_of(tokens.text(at, end)) is not Shape.KNOWN else None
            if family in ("message", "pin") or not near:
                return None
        begin, end = tokens.trimmed(at, tokens.piece_ends[at])
        if begin >= end or not (near or lead) or self._is_other(at):
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
            and not self._is_about(begin)
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
                if _SENT_CODE.fullmatch(tokens.text(at, end)) and not self._is_other(at):
                    self._take(at, end, "mfa_code")

    def _repetitions(self) -> None:
        """What was found once is found wherever it is said again."""
        tokens = self.tokens
        known: dict[tuple[str, ...], str] = {}
        for begin, end, kind in self.found:
            text = tokens.text(begin, end)
            if end - begin <= _REPEATED and len(text) >= 4 and not (end - begin == 1 and self._is_about(begin)):
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
                if kind and whole and not self._is_other(at):
                    self._take(at, at + length, kind)
