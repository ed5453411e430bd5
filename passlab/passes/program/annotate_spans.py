"""Give every node a source location in the program's current text.

before:
    def @main(%x: Tensor[(2), float32]) { exp(%x) }
after:
    def @main(%x: Tensor[(2), float32]) { exp(%x) }
"""

from __future__ import annotations

from passlab.infer import infer_module
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import note_rewrite, post_order
from passlab.text.parser import parse
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

NAME = "GeneratedSource"


@standard_pass(opt_level=0, contract=EXACT)
class AnnotateSpans(ModulePass):
    """Print the module and read it again as the source `GeneratedSource`.

    Nodes of programs that were built or rewritten have no source location, or one in an older text; after this pass,
    errors and debuggers can point into the current text. Attributes of the module stay. A module that was parsed from
    exactly the text it prints is returned as it is. The result is typed if the module was.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        text = mod.astext(show_meta_data=True)
        if _is_annotated(mod, text):
            return mod
        result = parse(text, NAME)
        result.attrs = mod.attrs
        result._imports = mod._imports
        for name, function in mod.items():
            # Note which node replaces which; where the kinds of nodes differ, only which function does.
            new = result[name]
            olds, news = ([n for n in post_order(f) if type(n) is not Op] for f in (function, new))
            for before, after in (
                zip(olds, news, strict=True) if [*map(type, olds)] == [*map(type, news)] else [(function, new)]
            ):
                note_rewrite(before, after)
        typed = len(mod) > 0 and all(f.checked_type_ is not None for _, f in mod.items())
        return infer_module(result) if typed else result


def _is_annotated(mod: IRModule, text: str) -> bool:
    """Return whether the module was parsed from this text under our source name, all source locations included."""
    source = mod.source
    if source is None or source.name != NAME or source.text != text:
        return False
    nodes = (n for _, f in mod.items() for n in post_order(f) if type(n) is not Op)
    return all(n.span is not None and n.span.source is source for n in nodes)
