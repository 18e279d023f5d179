"""Candidates for secrets after a cue, by their shape and their link to the cue.

password is Marigold77        IS, and any word will do
password , Marigold77         PAUSE, and it has to be odd enough
code 482 913                  digits, together or apart
"""

from __future__ import annotations

import re
from enum import IntEnum

from tablewright.systems.servicedesk.masking.secret_shapes import MASK, Shape, Tokens, is_serial, shape_of
from tablewright.systems.servicedesk.masking.vocabulary import (
    ABOUT,
    ABOUT_ENDINGS,
    BEFORE_NUMBERS,
    COPULAS,
    CUES,
    LEADS,
    NEGATIONS,
    NOUNS,
    NOW,
    OTHERS,
    PREPOSITIONS,
    SPELLED,
    THINGS,
    Cue,
)

__all__ = ["REACH", "Candidates", "Link"]

# The number of tokens that are examined from a cue.
REACH = 16
_PHRASE_REACH = 30
_GERMAN_ABOUT = re.compile(
    r"(?:ab|an|auf|aus|ein|zu|zuruck|weg|un)?ge\w{2,20}(?:t|en)|(?:ver|ent|zer|un|ab)\w{3,20}(?:t|en)"
)


# Between letters that are spelled, and between a letter and a word that begins with it.
_BETWEEN_LETTERS = (",", "-", ".")
_EXAMPLE = frozenset(["as", "come", "comme", "como", "for", "in", "jak", "like", "wie"])
# nieprawidłowe, nieczytelny
_POLISH_NOT = re.compile(r"nie\w{4,20}[aeyi]")


class Link(IntEnum):
    """The link of a candidate to its cue, from the weakest."""

    NONE = 0
    PAUSE = 1
    LEAD = 2
    NEXT = 3
    ROUGHLY = 4
    CHANGE = 5
    IS = 6
    SIGN = 7


class Candidates:
    """The secrets that may begin or end at a token: each as the first token, and the one after the last."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.words = tokens.words

    def candidate(
        self, at: int, cue: Cue, link: Link, *, spoken: int, doubt: bool, broken: bool, since: int
    ) -> tuple[int, int] | None:
        """The secret that begins at a token, if there is one after this link."""
        tokens, family = self.tokens, cue.family
        if family in ("serial", "sticker"):
            return self._serial_behind(at, family, link, since)
        if at in tokens.quotes and tokens.quotes[at] > at:
            return self.quoted(at, link, spoken) if family != "message" else None
        if not tokens.gaps[at] and link not in (Link.SIGN, Link.PAUSE, Link.NEXT):
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
        return self._password(at, family, link, doubt=doubt, broken=broken)

    def _code(self, at: int, family: str, link: Link, since: int) -> tuple[int, int] | None:
        tokens = self.tokens
        end, digits = tokens.number(at)
        least = 4 if family in ("pin", "code", "one-time", "backup") and link >= Link.NEXT else 6
        if family == "pin" or (link in (Link.PAUSE, Link.LEAD) and family != "message"):
            least = 4
        most = 100 if family == "backup" or end - at > 3 else 10
        if not least <= digits <= most or self.is_other(at, since, joined=link >= Link.IS):
            return None
        text = tokens.text(at, end)
        if shape_of(text) is Shape.KNOWN and "-" not in text and " " not in text:
            return None
        if family != "pin" and digits == 4 and text[:2] in ("19", "20") and link < Link.IS:
            return None
        if link is Link.NONE and (family == "pin" or (family == "code" and digits < 6)):
            return None
        return at, self._spelled(end)

    def is_other(self, at: int, since: int = 0, *, joined: bool = False) -> bool:
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

    def quoted(self, at: int, link: Link, spoken: int) -> tuple[int, int] | None:
        tokens, close = self.tokens, self.tokens.quotes[at]
        inner = self.words[at + 1 : close]
        if not inner or MASK in inner or (link is Link.NONE and spoken > 3):
            return None
        if any((word,) in CUES for word in inner) and shape_of(tokens.text(at + 1, close)) is not Shape.ODD:
            return None
        if all(word in ABOUT or word in THINGS for word in inner):
            return None
        return at + 1, close

    def _password(self, at: int, family: str, link: Link, *, doubt: bool, broken: bool) -> tuple[int, int] | None:
        tokens = self.tokens
        begin, end = tokens.trimmed(at, self._piece_end(at))
        if begin >= end:
            return None
        if family in ("password", "key") and link >= Link.NEXT and not doubt and (spelled := self._spelled_out(at)):
            return at, spelled
        text = tokens.text(begin, end)
        shape = shape_of(text)
        if family == "phrase" and link >= Link.IS:
            return at, self._rest(at)
        if family == "credentials":
            return self._second(at) if link >= Link.IS else None
        if family == "password" and shape in (Shape.WORD, Shape.ODD) and link >= Link.IS and not doubt:
            rest = self._words_to_the_end(at)
            if rest is not None:
                return at, rest
        if shape is Shape.WORD:
            return self._word(at, begin, end, text, link, doubt=doubt or family not in ("password", "key"))
        if shape is Shape.KNOWN:
            sure = family == "password" and link >= Link.IS and not doubt and not text.isalpha()
            return (begin, end) if sure and not text[-1].isalpha() and "://" not in text else None
        if shape is Shape.NUMBER:
            if family not in ("password", "key") or self.is_other(at):
                return None
            stop, digits = tokens.number(at)
            enough = digits >= 4 and (link >= Link.IS or link is Link.NEXT or (digits >= 6 and link >= Link.PAUSE))
            return (at, stop) if enough else None
        if shape is not Shape.ODD:
            return None
        if len(text) < 4 and link < Link.IS:
            return None
        if family in ("code", "one-time") and (link < Link.ROUGHLY or not any(map(str.isdecimal, text))):
            return None
        if family == "pin" and link < Link.NEXT:
            return None
        if link in (Link.NONE,) or (link is Link.LEAD and self.is_other(at)):
            return None
        if link is Link.PAUSE and not self._enclosed(begin, end):
            return None
        if link in (Link.CHANGE, Link.LEAD) and broken and self.words[at - 1] in ("in", "a", "on"):
            return None
        if (
            link is Link.CHANGE
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
        """jdoe42: letters, then digits, all lowercase."""
        text = self.tokens.text(begin, end)
        return text.isalnum() and text == text.lower()

    def _enclosed(self, begin: int, end: int) -> bool:
        """Whether there is a pause before a candidate, and another one after it."""
        after = self.words[end] if end < self.tokens.count else "."
        before = self.words[begin - 1] if begin else ","
        return before in ("-", "(", "/") or not after[0].isalnum() or after in COPULAS

    def _piece_end(self, at: int) -> int:
        """Where a value ends: with its piece, or with the element of a document that it is in."""
        end = self.tokens.piece_ends[at]
        if at and self.words[at - 1] == ">" and not self.tokens.gaps[at]:
            for place in range(at, min(end - 1, at + REACH)):
                if self.words[place] == "<" and self.words[place + 1] == "/":
                    return place
        return end

    def is_about(self, at: int) -> bool:
        """Whether a word says something of a password."""
        word = self.words[at]
        if word in ABOUT or word in NEGATIONS or word in COPULAS or word in NOW or (word,) in CUES:
            return True
        if word in NOUNS:
            return False
        original = self.tokens.folded.original[
            slice(*self.tokens.folded.span(self.tokens.begins[at], self.tokens.ends[at]))
        ]
        return (
            (word.endswith(ABOUT_ENDINGS) and len(word) > 4)
            or original.lower().endswith(("é", "ée", "és", "ées"))
            # With a capital it is a noun.
            or (_GERMAN_ABOUT.fullmatch(word) is not None and not original.istitle())
            or _POLISH_NOT.fullmatch(word) is not None
        )

    def _word(self, at: int, begin: int, end: int, text: str, link: Link, *, doubt: bool) -> tuple[int, int] | None:
        """A word that could be any word is a secret only where it is named as one."""
        tokens, words = self.tokens, self.words
        in_brackets = link is Link.PAUSE and words[at - 1] == "(" and end < tokens.count and words[end] == ")"
        if in_brackets and not doubt and not self.is_about(begin) and len(text) > 3:
            return begin, end
        if doubt or link < Link.CHANGE or len(text) < 3 or self.is_about(begin) or "'" in text:
            return None
        if link is Link.CHANGE and ((words[at - 1] != "to" and words[at - 1] != "be") or words[begin] in LEADS):
            return None
        stop = self._spelled(end)
        if stop == end < tokens.count and link is not Link.SIGN:
            after = words[end]
            if after[0].isalnum() and not (after in ABOUT or after in LEADS) and not tokens.line_before(end):
                return None
        return begin, stop

    def _spelled(self, end: int) -> int:
        """The end of a secret that continues in spelled letters and digits."""
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

    def _spelled_out(self, at: int) -> int | None:
        """The end of a secret that is spelled from its beginning: h u n t e r 2; s as in Sierra, u, n, 4."""
        tokens, words = self.tokens, self.words
        if words[at] in COPULAS and words[at] != "s":
            return None
        place, letters, end = at, 0, at
        while place < min(tokens.count, at + 4 * REACH) and (place == at or not tokens.line_before(place)):
            word = words[place]
            if not tokens.gaps[place] and word not in _BETWEEN_LETTERS:
                break
            if len(word) == 1 and word.isalnum():
                if self._goes_on(place, end):
                    break
                letters, place = letters + 1, self._after_example(place)
            elif word in SPELLED or word.isdecimal():
                place += 1
            elif place > at and word in _BETWEEN_LETTERS:
                place += 1
                continue
            else:
                break
            end = place
        return end if letters >= 3 and end - at >= 4 else None

    def _goes_on(self, at: int, end: int) -> bool:
        """Whether a letter is a word that goes on behind what was spelled: 2, I think."""
        after = self.words[at + 1] if at + 1 < self.tokens.count else ","
        spelled = len(after) == 1 or after in SPELLED or after in _EXAMPLE
        return at > end > 0 and self.words[at] in "aeiouwyz" and not spelled

    def _after_example(self, at: int) -> int:
        """Behind a letter, and behind the word that begins with it and says which it is."""
        words, place = self.words, at + 1
        while place < min(self.tokens.count, at + 3) and words[place] in _EXAMPLE:
            place += 1
        is_one = (
            place > at + 1 and place < self.tokens.count and words[place].isalpha() and words[place][0] == words[at]
        )
        return place + 1 if is_one else at + 1

    def _words_to_the_end(self, at: int) -> int | None:
        """The end of a secret of several words, which are the rest of the clause."""
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
        enough = 3 if not self.is_about(at) else 4
        if any(self.is_about(each) for each in range(at + 1, place)):
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
        if self.is_about(at):
            return None
        end = tokens.piece_ends[at]
        for place in range(at, min(end - 1, at + REACH)):
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
            # A word about the password is a word by itself: "a|00" is not.
            if begin < stop and (stop - begin > 1 or words[begin] not in ABOUT):
                return begin, stop
        begin, stop = tokens.trimmed(at, end)
        return (begin, stop) if begin < stop and shape_of(tokens.text(begin, stop)) is Shape.ODD else None

    # -- serials ----------------------------------------------------------------------------------------------------

    def serial(self, at: int, least: int) -> tuple[int, int] | None:
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

    def _serial_behind(self, at: int, family: str, link: Link, since: int) -> tuple[int, int] | None:
        tokens = self.tokens
        if at in tokens.quotes and tokens.quotes[at] > at and family == "serial" and link >= Link.NEXT:
            return self.quoted(at, link, 0)
        if not tokens.gaps[at] and link not in (Link.SIGN, Link.NEXT, Link.PAUSE):
            return None
        least = 7 if family == "sticker" else 4 if link >= Link.NEXT else 6
        found = self.serial(at, least)
        if found is not None:
            text = tokens.text(*found)
            letters = any(map(str.isalpha, text))
            if self.is_other(at, since, joined=link >= Link.IS) or (
                family == "sticker" and not letters and len(text) < 9
            ):
                return None
            return found if letters or link is not Link.NONE else None
        if family == "serial" and link >= Link.NEXT:
            end = self._spelled(at)
            if end - at >= 4:
                return at, end
        return None
