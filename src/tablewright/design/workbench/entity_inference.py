"""Infers the entities of a table from its sample items.

Entities: by a type attribute (``EntityType``); or by the facets and by the words in the keys (``TICKET#…`` with
``EVENT#…``). Items that their keys do not distinguish are one entity.

Key templates: a key attribute is split at ``#``; a part that equals another attribute in every item is a field, a part
that is the same word everywhere is literal text, and so is a key that is the same in several items. A template is used
only if it gives exactly the keys of all items, and no other one does. Everything else is a plain field, which is always
valid; what it may be made of is noted. Where only the word that keys begin with tells entities apart, all that is
behind it is one field.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from itertools import count, islice, product

from tablewright.design.workbench.workbench_file import Listed, TableFile
from tablewright.dynamo import Item, non_null_at
from tablewright.model import Template, TemplateError
from tablewright.model.keys.key_forms import encode_number

__all__ = ["KEY_PART", "Attribute", "EntityDraft", "entities", "type_attribute"]

# How the name of a part of a key begins that is in no attribute.
KEY_PART = "\x00"

_TYPE_NAMES = frozenset(["entitytype", "type", "entity", "typename", "itemtype", "kind", "recordtype", "et"])
# Generic names of key attributes: PK, SK, GSI1PK, gsi2-sk, ...
_MADE = re.compile(r"(?:(?:gsi|lsi)?[-_]?\d*[-_]?)?(?:pk|sk)[-_]?\d*", re.IGNORECASE)
_LITERAL = re.compile(r"#?[A-Za-z][A-Za-z_-]*#?")
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]*")
# What separates the parts of a key, to distinguish words from ids.
_SEPARATOR = re.compile(r"[#|/:]")
_CAPITALS = re.compile(r"[A-Z][A-Z_-]*")
# A word that a key begins with, with what separates it from the rest.
_BEHIND = re.compile(r"([A-Za-z][A-Za-z_-]*[#|/:])(.+)", re.DOTALL)
# Words in a sort key that do not name an entity.
_PLAIN_WORDS = frozenset(["metadata", "meta", "info", "profile", "details", "data", "root", "item"])
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_MIN_WORD_LENGTH = 3
# Values that are fewer or shorter than that are equal to others by chance.
_MIN_DIFFERENT = 3
_MIN_LENGTH = 8
# The templates that are looked at where several fit.
_MAX_OPTIONS = 8
# Numbers of one width with at least so many digits are assumed to be zero-padded.
_WIDE = 10
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(slots=True)
class Attribute:
    """An attribute of an entity: its Python type, and whether every item has it."""

    name: str
    annotation: str
    always: bool
    # Whether it is only in keys.
    key_only: bool = False


@dataclass(slots=True)
class EntityDraft:
    """An entity, as far as it can be inferred."""

    name: str
    # The value of the type attribute, if there is one.
    type_name: str | None
    items: list[Item]
    # Templates of derived key attributes, over attributes.
    keys: dict[str, str] = field(default_factory=dict)
    attributes: list[Attribute] = field(default_factory=list)
    # Keys that samples alone do not explain: by attribute, what they may be made of.
    unclear: dict[str, list[str]] = field(default_factory=dict)
    # Keys in which nothing is escaped, with what separates their parts; and the parts of keys that are in no attribute.
    raw: dict[str, str] = field(default_factory=dict)
    key_only: list[str] = field(default_factory=list)
    # The same parts, by the texts that the items have there.
    behind: dict[tuple[str, ...], str] = field(default_factory=dict)

    def template(self, key: str) -> Template:
        """The template of a key, over attributes."""
        return _as_template(self.keys[key], self.raw.get(key))


def entities(table: TableFile) -> list[EntityDraft]:
    """The entities of a table; at least one."""
    listed = table.items
    kind = type_attribute(table)
    drafts = _groups(table, listed, kind)
    for draft in drafts:
        _infer_keys(table, draft, kind)
    _tell_apart(table, drafts)
    if kind is None:
        found = _distinct(table, drafts)
        if len(found) == 1 and _is_called_after_table(table, found[0], merged=len(drafts) > 1):
            found[0].name = table.TableName
        drafts = found
    declared = {attribute.AttributeName: attribute.AttributeType for attribute in table.NonKeyAttributes}
    for draft in drafts:
        draft.attributes = list(_attributes(table, draft, kind))
    _give_undescribed(table, drafts, declared, kind)
    return drafts


def type_attribute(table: TableFile) -> str | None:
    """The type attribute: recognised by its name, and because all items have it."""
    items = [listed.item for listed in table.items]
    for attribute in table.NonKeyAttributes:
        name = attribute.AttributeName
        plain = re.sub(r"[^a-z]", "", name.lower())
        if name in table.key_types or plain not in _TYPE_NAMES or not items:
            continue
        values = [item.get(name, {}).get("S") for item in items]
        if all(values) and (plain != "type" or len(set(values)) < len(values) or len(values) == 1):
            return name
    return None


# -- entities ---------------------------------------------------------------------------------------


def _groups(table: TableFile, listed: Sequence[Listed], kind: str | None) -> list[EntityDraft]:
    """Items that are of one kind: by the type attribute, or by their facet and the words in their keys."""
    sizes = Counter(facet for each in listed for facet in each.facets)
    kinds: list[tuple[str, tuple[str, ...]]] = []
    for each in listed:
        # A facet that lists few items says more than one that lists all.
        facet = min(each.facets, key=lambda name: sizes[name]) if each.facets else ""
        kinds.append((each.item[kind]["S"], ()) if kind is not None else (facet, _key_words(table, each.item)))
    words = {facet: {word for other, word in kinds if other == facet} for facet, _ in kinds}
    called = Counter(_name(found) for _, found in set(kinds))
    groups: dict[tuple[str, tuple[str, ...]], EntityDraft] = {}
    for each, (facet, found) in zip(listed, kinds, strict=True):
        # VIN#… with ID#… is another thing than ID#… alone.
        word = _name(found) if called[_name(found)] == 1 else "_".join(found)
        label = word if not facet or len(words[facet]) > 1 else facet
        draft = groups.setdefault((facet, found), EntityDraft(label or facet or table.TableName, None, []))
        draft.type_name = facet if kind else None
        draft.items.append(each.item)
    if not groups:
        return [EntityDraft(table.TableName, None, [])]
    return list(groups.values())


def _key_words(table: TableFile, item: Item) -> tuple[str, ...]:
    """The words that the keys of an item begin with, or are."""
    found = []
    for name in table.key:
        text = item[name].get("S", "")
        parts = _SEPARATOR.split(text)
        is_whole = _MADE.fullmatch(name) and (_CAPITALS.fullmatch(text) or text.lower() in _PLAIN_WORDS)
        word = parts[0] if len(parts) > 1 else text if is_whole else ""
        if _WORD.fullmatch(word):
            found.append(word)
    return tuple(found)


def _name(words: Sequence[str]) -> str:
    """What an item is called by the words in its keys."""
    if not words:
        return ""
    return words[-1] if words[-1].lower() not in _PLAIN_WORDS else words[0]


def _tell_apart(table: TableFile, drafts: Sequence[EntityDraft]) -> None:
    """Where entities could have the same key, make templates of the word that theirs begins with and all behind it."""
    for draft in drafts:
        if any(other is not draft and _overlap(table, draft, other) for other in drafts):
            for name in table.key:
                if name not in draft.keys and _MADE.fullmatch(name):
                    _behind_word(draft, name)


def _behind_word(draft: EntityDraft, name: str) -> None:
    texts = [item[name].get("S", "") for item in draft.items]
    found = [_BEHIND.fullmatch(text) for text in texts]
    beginnings = {match and match[1] for match in found}
    separator = next((each for each in "#|;~^" if not any(each in match[2] for match in found if match)), None)
    if len(beginnings) != 1 or None in beginnings or separator is None:
        return
    (beginning,) = beginnings
    rest = tuple(match[2] for match in found if match)
    part = draft.behind.get(rest)
    if part is None:
        # Several keys may begin with one word.
        taken = [{each: {"S": ""} for each in draft.key_only}]
        part = draft.behind[rest] = _key_part(str(beginning), [*draft.items, *taken])
        draft.key_only.append(part)
    draft.keys[name], draft.raw[name] = f"{beginning}{{{part}}}", separator


def _distinct(table: TableFile, drafts: Sequence[EntityDraft]) -> list[EntityDraft]:
    """Entities with distinct keys; those that could have the same key are merged."""
    found: list[EntityDraft] = []
    for draft in drafts:
        alike = [other for other in found if _overlap(table, draft, other)]
        if not alike:
            found.append(draft)
            continue
        first = alike[0]
        for other in [draft, *alike[1:]]:
            first.items += other.items
            if other in found:
                found.remove(other)
        _infer_keys(table, first, None)
    # A merged entity may overlap with others.
    return found if len(found) == len(drafts) else _distinct(table, found)


def _overlap(table: TableFile, one: EntityDraft, other: EntityDraft) -> bool:
    both = [name for name in table.key if name in one.keys and name in other.keys]
    return all(one.template(name).overlaps(other.template(name)) for name in both)


def _is_called_after_table(table: TableFile, draft: EntityDraft, *, merged: bool) -> bool:
    """Whether the only entity of a table is better named after the table."""
    return merged or table.TableName.endswith("s") or len(draft.name) < _MIN_WORD_LENGTH


# -- key templates ----------------------------------------------------------------------------------------------


def _infer_keys(table: TableFile, draft: EntityDraft, kind: str | None) -> None:
    """The templates of the derived key attributes, and what is unclear."""
    draft.keys, draft.unclear, draft.raw, draft.key_only, draft.behind = {}, {}, {}, [], {}
    # With the parts of keys that are in no attribute, as they are found.
    items = [dict(item) for item in draft.items]
    if not items:
        return
    keys = list(table.key_types)
    simple = [name for name in keys if _is_simple(name, items)]
    sources = [name for name in _names(items) if name != kind and (name not in keys or name in simple)]
    for name in keys:
        if table.key_types[name] == "S" and name not in simple:
            known = [source for source in (*sources, *draft.key_only) if source != name]
            added: list[str] = []
            template, unclear = _template(
                draft, items, name, known, added if name in table.key and _MADE.fullmatch(name) else None
            )
            if unclear:
                draft.unclear[name] = unclear
            elif template is not None:
                draft.keys[name] = template
                draft.key_only += added


def _is_simple(name: str, items: Sequence[Item]) -> bool:
    """Whether a key attribute is a plain value: it has a name of its own, and no parts."""
    values = [item[name].get("S", "") for item in items if name in item]
    return not _MADE.fullmatch(name) and not any("#" in value for value in values)


def _names(items: Sequence[Item]) -> list[str]:
    return list(dict.fromkeys(name for item in items for name in item))


def _template(
    draft: EntityDraft, items: list[Item], name: str, sources: Sequence[str], added: list[str] | None
) -> tuple[str | None, list[str]]:
    """The template of a key attribute; or, where samples do not decide, the templates that it may have.

    A part of a primary key that is in no attribute is ``added`` to the items, behind a word.
    """
    having = [item for item in items if "S" in item.get(name, {})]
    texts = {item[name]["S"] for item in having}
    if len(texts) == 1 and added is not None and (constant := _constant(min(texts), len(having))) is not None:
        return constant, []
    rows = [item[name]["S"].split("#") for item in having]
    if not rows or len({len(row) for row in rows}) > 1:
        return None, []
    options: list[list[str]] = []
    used: set[str] = set()
    is_certain = True
    for column in zip(*rows, strict=True):
        before = options[-1][0] if options and not options[-1][0].startswith("{") else ""
        candidates, certain = _candidates(draft, column, having, sources, used, before)
        if candidates:
            is_certain = is_certain and certain
            used.update(part.partition(":")[0] for part in candidates)
            options.append([f"{{{part}}}" for part in candidates])
        elif len(set(column)) == 1 and _is_word(column[0], len(rows[0])):
            options.append([column[0]])
        elif added is not None and before and all(column):
            part = _key_part(before, items)
            for item, text in zip(items, column, strict=True):
                item[part] = {"S": text}
            added.append(part)
            options.append([f"{{{part}}}"])
        else:
            return None, []
    joined = ["#".join(parts) for parts in islice(product(*options), _MAX_OPTIONS)]
    fitting = [text for text in joined if _gives_the_keys(text, name, items)]
    if not fitting and added:
        # What other programs have made is not escaped.
        fitting = [text for text in joined if _gives_the_keys(text, name, items, raw=True)]
        draft.raw |= {name: "#"} if fitting else {}
    return (fitting[0], []) if len(fitting) == 1 and is_certain else (None, fitting)


def _constant(text: str, count: int) -> str | None:
    """The template of a key that is the same in all items, such as ``metadata``: of several, or a word for that."""
    word = text.strip("#").lower()
    is_literal = _LITERAL.fullmatch(text) is not None and (count > 1 or word in _PLAIN_WORDS)
    return text if is_literal else None


def _key_part(word: str, items: Sequence[Item]) -> str:
    """A name for a part of a key, after the word before it; no attribute begins so."""
    taken = {_plain(name) for item in items for name in item}
    base = re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_")
    free = next(name for n in count(1) if _plain(name := f"{base}_id" + ("" if n == 1 else f"_{n}")) not in taken)
    return f"{KEY_PART}{free}"


def _candidates(
    draft: EntityDraft,
    column: Sequence[str],
    items: Sequence[Item],
    sources: Sequence[str],
    used: set[str],
    before: str,
) -> tuple[list[str], bool]:
    """The attributes that a part of a key may be, and whether it is certain that it is the first of them.

    Values that are few and short are equal by chance: a category 1 and a product 1. Then an id that is called after
    something else, or what another key is called after, is no more than a possibility.
    """
    fitting: dict[str, str] = {}
    for part in _fields(column, items, sources, used, before):
        fitting.setdefault(part.partition(":")[0], part)
    for word in (_plain(before), _plain(draft.name)):
        named = [part for path, part in fitting.items() if word and _is_named(path, word)]
        if named:
            return named, len(named) == 1
    found = list(fitting.values())
    if len(found) != 1:
        return found, not found
    name = _plain(found[0].partition(":")[0].rpartition(".")[2])
    # An id that says what it is of, as user-1 does, is that.
    says = all(_plain(text).startswith(name.removesuffix("id")) for text in column)
    is_of_another = name.endswith("id") or any(
        _is_named(name, word) for item in items for word in _words_of(item) if word != _plain(before)
    )
    return found, says or not (is_of_another and before and _is_chance(column))


def _words_of(item: Item) -> set[str]:
    """The words that keys of an item begin with: ``cat`` of ``CAT#9``."""
    texts = [value["S"] for value in item.values() if "#" in value.get("S", "")]
    return {_plain(text.partition("#")[0]) for text in texts} - {""}


def _is_named(path: str, word: str) -> bool:
    """Whether an attribute is called after a word of the key, or the other way round."""
    name = _plain(path.rpartition(".")[2])
    return name in (word, f"{word}id", f"{word}s", "id") or word in (f"{name}id", f"{name}s")


def _is_chance(column: Sequence[str]) -> bool:
    """Whether values are so few or so short that they may be equal to others by chance."""
    return len(set(column)) < _MIN_DIFFERENT or all(len(text) < _MIN_LENGTH for text in column)


def _is_word(text: str, parts: int) -> bool:
    return (_WORD if parts > 1 else _CAPITALS).fullmatch(text) is not None


def _fields(
    column: Sequence[str], items: Sequence[Item], sources: Sequence[str], used: set[str], before: str
) -> Iterator[str]:
    """The attributes that may be a part of a key; first those named like the word before it."""
    wanted = _plain(before)
    paths = [path for source in sources for path in _paths(source, items) if path not in used]
    paths.sort(key=lambda path: not (wanted and _plain(path) in (wanted, f"{wanted}id", f"{wanted}s")))
    for path in paths:
        values = [non_null_at(item, path) for item in items]
        if None not in values:
            pairs = [(value, text) for value, text in zip(values, column, strict=True) if value is not None]
            yield from (path + form for form in _forms(column) if all(_stands_as(*pair, form) for pair in pairs))


def _forms(column: Sequence[str]) -> Iterator[str]:
    """The formats that a part of a key may have, the likeliest first."""
    widths = {len(text) for text in column}
    if len(widths) == 1 and all(map(str.isdigit, column)):
        (width,) = widths
        # Times in milliseconds and the like have a fixed number of digits.
        if width >= _WIDE or any(text.startswith("0") for text in column):
            yield f":0{width}"
    yield from ("", ":date", ":number")


def _paths(source: str, items: Sequence[Item]) -> Iterator[str]:
    """The paths of an attribute, or of the members of a map, that a template can name."""
    if not re.fullmatch(r"[A-Za-z_]\w*", source):
        # Its field will have a name that a template can contain.
        if not re.search(r"[{}:.]", source):
            yield source
        return
    members = {name for item in items for name in item.get(source, {}).get("M", {})}
    if members:
        yield from (f"{source}.{name}" for name in sorted(members) if re.fullmatch(r"[A-Za-z_]\w*", name))
    else:
        yield source


def _stands_as(value: Mapping[str, str], text: str, form: str) -> bool:
    ((tag, content),) = value.items()
    if form == "":
        return tag in ("S", "N") and content == text
    if form == ":date":
        return tag == "S" and _is_time(content) and content[:10] == text
    if tag != "N":
        return False
    if form == ":number":
        return encode_number(Decimal(content)) == text
    return content.isdigit() and text == content.zfill(len(text))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _gives_the_keys(text: str, name: str, items: Sequence[Item], *, raw: bool = False) -> bool:
    """Whether a template produces exactly the keys of the items."""
    try:
        template = _as_template(text, "#" if raw else None)
        return all(template.render(item) == item.get(name, {}).get("S") for item in items)
    except TemplateError:
        return False


def _as_template(text: str, raw: str | None = None) -> Template:
    """A template over attributes, also over those with names that a template cannot contain."""
    names: dict[str, str] = {}

    def stand_in(match: re.Match[str]) -> str:
        path, colon, form = match[1].partition(":")
        names[f"f{len(names)}"] = path
        return f"{{f{len(names) - 1}{colon}{form}}}"

    shown = re.sub(r"\{([^}]*)\}", stand_in, text)
    return Template(shown, raw).renamed(names.__getitem__)


# -- attributes -----------------------------------------------------------------------------------------------------


def _attributes(table: TableFile, draft: EntityDraft, kind: str | None) -> Iterator[Attribute]:
    for part in draft.key_only:
        yield Attribute(part, "str", always=True, key_only=True)
    for name in dict.fromkeys([*table.key, *_names(draft.items)]):
        if name == kind or name in draft.keys:
            continue
        # NULL counts as absent: an entity does not store it.
        values = [item[name] for item in draft.items if name in item and "NULL" not in item[name]]
        always = len(values) == len(draft.items)
        if name in table.key_types:
            annotation = _key_type(table.key_types[name], values)
            if any(table.key_types[name] not in value for value in values):
                continue
        else:
            annotation = _type_of(values)
        yield Attribute(name, annotation, always or name in table.key)


def _give_undescribed(
    table: TableFile, drafts: Sequence[EntityDraft], declared: Mapping[str, str], kind: str | None
) -> None:
    """Declared attributes that no sample item has go to the entity whose facet names them, or to the first."""
    known = {attribute.name for draft in drafts for attribute in draft.attributes}
    known |= {name for draft in drafts for name in draft.keys}
    facets = {facet.FacetName: facet.NonKeyAttributes for facet in table.TableFacets}
    for name, tag in {**declared, **table.key_types}.items():
        if name in known or name in table.key or name == kind:
            continue
        owner = next((draft for draft in drafts if name in facets.get(draft.name, ())), drafts[0])
        owner.attributes.append(Attribute(name, _PYTHON.get(tag, "Any"), False))


_PYTHON = {
    "S": "str",
    "N": "Decimal",
    "B": "bytes",
    "BOOL": "bool",
    "M": "dict[str, Any]",
    "L": "list[Any]",
    "SS": "set[str]",
    "NS": "set[Decimal]",
    "BS": "set[bytes]",
}


def _key_type(tag: str, values: Sequence[Mapping[str, str]]) -> str:
    if tag == "N":
        return "int" if values and all(_is_whole(value.get("N", "")) for value in values) else "Decimal"
    return _type_of(values) if tag == "S" and values else _PYTHON[tag]


def _type_of(values: Sequence[Mapping[str, str]]) -> str:
    tags = {tag for value in values for tag in value}
    if len(tags) != 1:
        return "Any"
    (tag,) = tags
    present = [value[tag] for value in values]
    if tag == "N" and all(map(_is_whole, present)):
        return "int"
    if tag == "NS" and all(_is_whole(each) for some in present for each in some):
        return "set[int]"
    if tag == "S" and all(map(_is_time, present)):
        return "datetime"
    if tag == "S" and all(map(_is_date, present)):
        return "date"
    return _PYTHON[tag]


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,38}", text) is not None


def _is_time(text: str) -> bool:
    """Whether a text is just how a time is stored, so that it is stored the same again."""
    try:
        return _TIME.fullmatch(text) is not None and bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False
