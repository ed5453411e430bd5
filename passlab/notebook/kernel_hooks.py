"""The hooks of a shell and its kernel for completion and inspection.

The modules that answer are loaded with the first request for a cell that begins with a magic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.notebook import lazy_modules as rooms


def _is_asked(text: str) -> bool:
    """Whether a cell begins with a magic; passlab ignores all others."""
    return text.lstrip().startswith("%")


def register_completion(shell: Any, magics: Any) -> Any:
    """Add the completer to a shell and return it; None if IPython is too old to have matchers (before 8.6)."""
    try:
        from IPython.core.completer import SimpleCompletion, context_matcher
    except ImportError:
        return None

    @context_matcher(identifier="passlab")  # type: ignore[misc, unused-ignore]
    def matcher(context: Any) -> Any:
        text = context.full_text
        if not _is_asked(text):
            return {"completions": [], "suppress": False}
        before = _text_before(text, context.cursor_line, context.cursor_position)
        choices, fragment = rooms.completion.candidates(text, before, shell.user_ns)
        results = [SimpleCompletion(name, type=kind) for name, kind in choices]
        return {"completions": results, "suppress": bool(results), "matched_fragment": fragment}

    shell.Completer.custom_matchers.append(matcher)
    return matcher


def unregister_completion(shell: Any, matcher: Any) -> None:
    """Take the completer out again."""
    if matcher in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(matcher)


def _text_before(text: str, line: int, column: int) -> str:
    lines = text.split("\n")
    return "\n".join([*lines[:line], lines[line][:column]]) if line < len(lines) else text


def register_inspection(shell: Any) -> Callable[[], None] | None:
    """Let the kernel of a shell describe operators and passes; return the undo function, None without a kernel."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return None
    others = kernel.do_inspect

    def do_inspect(code: str, cursor_pos: int, *args: Any, **options: Any) -> Any:
        text = rooms.inspection.describe(code, cursor_pos) if _is_asked(code) else None
        if text is None:
            return others(code, cursor_pos, *args, **options)
        return {"status": "ok", "found": True, "data": {"text/plain": text}, "metadata": {}}

    kernel.do_inspect = do_inspect

    def take_out() -> None:
        if kernel.__dict__.get("do_inspect") is do_inspect:
            kernel.do_inspect = others

    return take_out
