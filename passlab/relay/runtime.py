"""`relay.runtime`: the functions of TVM's run-time library.

lib = runtime.load_module("net.lib")            # a file of `export_library`
module = graph_executor.GraphModule(lib["default"](device))
machine = runtime.vm.VirtualMachine(runtime.load_module("exe.lib"), device)
"""

from passlab.executor import load_module
from passlab.executor.param_dict import load_param_dict, save_param_dict
from passlab.relay import vm

__all__ = ["load_module", "load_param_dict", "save_param_dict", "vm"]
