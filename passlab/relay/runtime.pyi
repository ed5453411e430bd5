"""`relay.runtime`: the functions of TVM's run-time library.

lib = runtime.load_module("net.lib")            # a file of `export_library`
module = graph_executor.GraphModule(lib["default"](device))
machine = runtime.vm.VirtualMachine(runtime.load_module("exe.lib"), device)
"""

from passlab import vm as vm
from passlab.executor import load_module as load_module
from passlab.executor.param_dict import load_param_dict as load_param_dict
from passlab.executor.param_dict import save_param_dict as save_param_dict
