"""Merge neighbouring regions of the same compiler.

before:
    def @main(%x: Tensor[(2), float32]) {
      %0 = annotation.compiler_end(exp(annotation.compiler_begin(%x, compiler="toy")), compiler="toy");
      %1 = annotation.compiler_begin(%0, compiler="toy");
      annotation.compiler_end(nn.relu(%1), compiler="toy")
    }
after:
    def @main(%x: Tensor[(2), float32]) {
      %0 = exp(annotation.compiler_begin(%x, compiler="toy"));
      annotation.compiler_end(nn.relu(%0), compiler="toy")
    }

keep:
    def @main(%x: Tensor[(2), float32]) {
      %0 = exp(annotation.compiler_begin(%x, compiler="toy"));
      %1 = tanh(annotation.compiler_end(%0, compiler="toy"));
      %2 = annotation.compiler_begin(annotation.compiler_end(%0, compiler="toy"), compiler="toy");
      %3 = annotation.compiler_begin(%1, compiler="toy");
      annotation.compiler_end(add(%2, %3), compiler="toy")
    }
"""

from __future__ import annotations

from passlab.analysis.contraction import Contraction
from passlab.analysis.regions import BEGIN, END, Region, Regions, compiler_of, is_begin, is_end
from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.walk import Scope, Scopes, rewrite
from passlab.rewriting.region_lets import without_region_lets
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, required=("InferType",), contract=EXACT, acts_on=(BEGIN, END))
class MergeCompilerRegions(FunctionPass):
    """Merge a region with the regions that produce its inputs, where they have the same compiler, and drop the marks
    between.

    Two regions stay apart if a path between them leaves both, since the merged region would then depend on itself, and
    if they are in different scopes, so that nothing is computed earlier or more often. Raises `PassError` if the marks
    do not form regions.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        func = without_region_lets(func, mod)
        regions = Regions(func)
        if len(regions.all) < 2:
            return func
        group = _merge(func, regions)

        def rule(pre: Expr, post: Expr) -> Expr:
            assert type(post) is Call
            if not (is_begin(pre) and is_end(source := pre.args[0])):
                return post
            region = regions.of.get(pre)
            inner = post.args[0]
            same = region is not None and group(region) == group(regions.of[source])
            return inner.args[0] if same and type(inner) is Call else post

        return rewrite(func, rule, only=(Call,))


class _MergedRegions:
    """The groups of merged regions: `merged(region)` is the number of its group."""

    def __init__(self, func: Function, regions: Regions) -> None:
        order = regions.items_in_order(func)
        self.items = [item for item in order if not (isinstance(item, Expr) and item in regions.of)]
        self.number = {item: i for i, item in enumerate(self.items)}
        self.regions = regions
        self.graph = Contraction([[self.of(p) for p in regions.operands(item)] for item in self.items])

    def of(self, part: Expr | Region) -> int:
        """Return the number of an item: a node, or for a value that leaves a region the region."""
        region = self.regions.of.get(part) if isinstance(part, Expr) else None
        return self.number[part if region is None else region]

    def __call__(self, region: Region) -> int:
        return self.graph.find(self.number[region])


def _merge(func: Function, regions: Regions) -> _MergedRegions:
    groups = _MergedRegions(func, regions)
    scopes = Scopes(func)
    scope = {region: _scope(region, scopes) for region in regions.all}
    for region in groups.items:
        if not isinstance(region, Region) or scope[region] is None:
            continue
        producers: dict[Region, None] = {}
        for begin in region.begins:
            source = begin.args[0]
            if is_end(source) and compiler_of(source) == region.compiler:
                producers[regions.of[source]] = None
        # The nearest first: a region between a farther one and this one may still be merged with it.
        for other in sorted(producers, key=lambda r: groups.graph.position(groups.number[r]), reverse=True):
            if scope[other] is scope[region]:
                groups.graph.contract(groups.number[other], groups.number[region])
    return groups


def _scope(region: Region, scopes: Scopes) -> Scope | None:
    """Return the scope that contains all nodes of a region, or None if they are in several."""
    scopes_of = {scopes.of[node] for node in region.nodes}
    return scopes_of.pop() if len(scopes_of) == 1 else None
