"""Programs drawn as trees, with a parser and a graph of one's own, as the tutorial on the visualizer does."""

import tvm
from tvm import relay
from tvm.contrib import relay_viz
from tvm.contrib.relay_viz.interface import VizEdge, VizNode, VizParser
from tvm.contrib.relay_viz.terminal import TermGraph, TermPlotter, TermVizParser

left, right = relay.var("left"), relay.var("right")
helper_var, main_var = relay.GlobalVar("Helper"), relay.GlobalVar("main")
helper = relay.Function([left, right], relay.subtract(left, right))
a, b, c = relay.var("a"), relay.var("b"), relay.var("c")
inner = relay.Call(helper_var, [a, b])
main = relay.Function([a, b, c], relay.Call(helper_var, [c, inner]))
mod = tvm.IRModule({main_var: main, helper_var: helper})
relay_viz.RelayVisualizer(mod).render()


class Parser(VizParser):
    def __init__(self):
        self._delegate = TermVizParser()

    def get_node_edges(
        self, node: relay.Expr, relay_param: dict[str, tvm.runtime.NDArray], node_to_id: dict[relay.Expr, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        if isinstance(node, relay.Var):
            return VizNode(node_to_id[node], "Parameter", f"called {node.name_hint}"), []
        return self._delegate.get_node_edges(node, relay_param, node_to_id)


relay_viz.RelayVisualizer(mod, {}, TermPlotter(), Parser()).render()


class Doubled(TermGraph):
    def node(self, viz_node):
        super().node(viz_node)
        if viz_node.type_name == "Parameter":
            twin = f"twin_{viz_node.identity}"
            super().node(VizNode(twin, "Twin", ""))
            super().edge(VizEdge(twin, viz_node.identity))


class Plotter(TermPlotter):
    def create_graph(self, name):
        self._name_to_graph[name] = Doubled(name)
        return self._name_to_graph[name]


relay_viz.RelayVisualizer(mod, {}, Plotter(), Parser()).render()
plotter = relay_viz.DotPlotter(graph_attr={"color": "red"}, get_node_attr=lambda node: {"shape": "box"})
relay_viz.RelayVisualizer(mod, relay_param={}, plotter=plotter, parser=relay_viz.DotVizParser())
print("done")
