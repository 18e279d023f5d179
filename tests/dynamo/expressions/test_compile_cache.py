"""Programs are kept by their text: many short ones, a few long ones, and none that is huge."""

from __future__ import annotations

from tablewright.dynamo.expressions import compile_cache


class Compiler:
    """Something to keep: it notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def compiled(self, text: str, names: tuple[tuple[str, str], ...] = ()) -> object:
        self.asked.append(text)
        return object()


def test_a_text_is_compiled_once() -> None:
    compiler = Compiler()
    keeping = compile_cache.cached_program(compiler.compiled)
    assert keeping("a = :v") is keeping("a = :v")
    assert keeping("x" * 1000) is keeping("x" * 1000)
    assert compiler.asked == ["a = :v", "x" * 1000]


def test_other_names_are_another_program() -> None:
    keeping = compile_cache.cached_program(Compiler().compiled)
    assert keeping("#a = :v", (("#a", "x"),)) is not keeping("#a = :v", (("#a", "y"),))


def test_what_is_huge_is_not_kept() -> None:
    compiler = Compiler()
    keeping = compile_cache.cached_program(compiler.compiled)
    huge = (("#a", "x" * 20_000),)
    keeping("#a = :v", huge)
    keeping("#a = :v", huge)
    assert len(compiler.asked) == 2


def test_the_oldest_is_forgotten_first() -> None:
    compiler = Compiler()
    keeping = compile_cache.cached_program(compiler.compiled)
    texts = [str(number) for number in range(compile_cache._SHORT_KEPT + 1)]
    for text in texts:
        keeping(text)
    compiler.asked.clear()
    for text in reversed(texts):
        keeping(text)
    assert compiler.asked == ["0"]


def test_long_texts_do_not_drive_out_short_ones() -> None:
    compiler = Compiler()
    keeping = compile_cache.cached_program(compiler.compiled)
    keeping("a = :v")
    for number in range(2 * compile_cache._LONG_TOGETHER // 1000):
        keeping(f"{number} {'x' * 1000}")
    compiler.asked.clear()
    keeping("a = :v")
    assert compiler.asked == []


def test_few_long_texts_are_kept() -> None:
    compiler = Compiler()
    keeping = compile_cache.cached_program(compiler.compiled)
    most = compile_cache._LONG_TOGETHER // 1000
    texts = [f"{number:<1000}" for number in range(most + 1)]
    for text in texts:
        keeping(text)
    compiler.asked.clear()
    for text in reversed(texts):
        keeping(text)
    assert compiler.asked == [texts[0]]
