"""`relay.testing`: the names of `passlab.testing` at the address Relay's examples use."""

from pathlib import Path

from passlab.faces import forward

# The modules of that package are found here, too: `from passlab.relay.testing.resnet import get_workload`.
__path__ = [str(Path(__file__).parent.parent / "testing")]

__getattr__, __dir__ = forward(__name__, "passlab.testing")
