"""Read-only facts about programs: variables, form, features, purity, call graph, counts and costs.

`relay.analysis` exports the same names. Nothing here changes a program.
"""

from passlab.analysis.call_graph import CallGraph
from passlab.analysis.census import (
    Feature,
    analyze_operations_distribution,
    check_constant,
    count_layers,
    detect_feature,
    list_fake_quantized_op_freqs,
    list_op_freqs,
    operator_calls,
    post_order_visit,
    users,
)
from passlab.analysis.cost import OpCost, call_cost, costs, get_total_mac_number
from passlab.analysis.extraction import (
    extract_fused_functions,
    extract_intermdeiate_expr,
    extract_intermediate_expr,
    search_fc_transpose,
)
from passlab.analysis.purity import ModulePurity, Purity, module_purity
from passlab.analysis.regions import AnnotatedRegion, AnnotatedRegionSet
from passlab.analysis.scopes import Scope, Scopes, scoped_children
from passlab.analysis.type_variables import all_dtypes, all_type_vars, bound_type_vars, free_type_vars
from passlab.analysis.well_formed import WellFormedness, check_basic_block_normal_form, well_formed
from passlab.infer import check_kind, unmatched_cases
from passlab.ir.variables import all_vars, bound_vars, free_vars

__all__ = [
    "AnnotatedRegion", "AnnotatedRegionSet", "CallGraph", "Feature", "ModulePurity", "OpCost", "Purity", "Scope",
    "Scopes", "WellFormedness", "all_dtypes", "all_type_vars", "all_vars", "analyze_operations_distribution",
    "bound_type_vars", "bound_vars", "call_cost", "check_basic_block_normal_form", "check_constant", "check_kind",
    "costs", "count_layers", "detect_feature", "extract_fused_functions", "extract_intermdeiate_expr",
    "extract_intermediate_expr", "free_type_vars", "free_vars", "get_total_mac_number",
    "list_fake_quantized_op_freqs", "list_op_freqs", "module_purity", "operator_calls", "post_order_visit",
    "scoped_children", "search_fc_transpose", "unmatched_cases", "users", "well_formed",
]  # fmt: skip
