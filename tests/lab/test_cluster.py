"""Searches on a Dask cluster of local processes give the same answers."""

from __future__ import annotations

import pytest

import passlab
from passlab import lab, relay, transform
from passlab.diffing.diff import count_operators
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")

pytestmark = pytest.mark.nightly

NET = """
def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32]) {
  let %a = tanh(%x);
  let %b = nn.relu(nn.dense(%a, %w));
  (exp(%b), nn.softmax(%a))
}
"""


def has_relu(mod):
    return "nn.relu" in count_operators(mod)


def has_tanh(mod):
    return "tanh" in count_operators(mod)


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        yield client.get_executor()


def test_a_program_is_reduced_by_a_cluster(cluster):
    mod = passlab.parse(NET)
    spread = lab.reduce(mod, has_relu, executor=cluster)
    assert spread.module.astext() == lab.reduce(mod, has_relu).module.astext()


def test_a_pass_is_found_by_a_cluster(cluster):
    mod = passlab.parse(NET)
    bisection = lab.bisect(mod, "InferType, ToGraphNormalForm, FastMath", has_tanh, executor=cluster, opt_level=4)
    assert bisection.event.name == "FastMath"


def test_counterfactuals_run_on_a_cluster(cluster):
    mod = passlab.parse(NET)
    spread = lab.what_if(mod, "InferType, ToGraphNormalForm, FuseOps", executor=cluster)
    assert spread.text() == lab.what_if(mod, "InferType, ToGraphNormalForm, FuseOps").text()


def test_orders_are_gone_through_by_a_cluster(cluster):
    mod = passlab.parse(NET)
    several = "FoldConstant, ToGraphNormalForm, FuseOps"
    assert lab.orders(mod, several, executor=cluster).text() == lab.orders(mod, several).text()


def test_a_culprit_that_a_cluster_helps_to_find_is_reduced(cluster, caplog):
    @transform.function_pass(opt_level=0)
    def mine(func, mod, ctx):
        return rewrite(func, lambda old, new: relay.sigmoid(*new.args) if new.op.name == "tanh" else new, only=(Call,))

    mod = passlab.parse("def @main(%x: Tensor[(3), float32]) { exp(tanh(nn.relu(%x))) }")
    found = lab.culprit(mod, ["InferType", mine], executor=cluster, executors=())
    assert found.module["main"].body.op.name == "tanh"
    assert not caplog.records
