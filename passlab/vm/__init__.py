"""The virtual machine: instruction table, compiler, verifier, executables and the machine that runs them."""
