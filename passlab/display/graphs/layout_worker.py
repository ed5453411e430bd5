"""Lays graphs out: DOT on standard input, Graphviz's JSON on standard output, in order. Run as a program of its own.

It may crash or hang: the process that started it goes on. It imports nothing of passlab.
Arguments: the folder that holds pygraphviz, and a limit on seconds of processor time.
"""

from __future__ import annotations

import sys

MEMORY = 2 * 2**30  # bytes
BETWEEN = "//next\n"


def main() -> None:
    """Read, lay out, write."""
    folder, seconds = sys.argv[1:]
    sys.path.append(folder)
    try:
        import resource
    except ImportError:  # Windows: the process that started this one watches the clock
        resource = None  # type: ignore[assignment]
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        _cap_memory(resource)
    import pygraphviz

    for text in sys.stdin.buffer.read().decode().split(BETWEEN):
        graph = pygraphviz.AGraph(string=text)
        graph.layout(prog="dot")
        sys.stdout.buffer.write(graph.draw(format="json0"))
        graph.close()


def _cap_memory(resource) -> None:  # type: ignore[no-untyped-def]
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (OSError, ValueError):
        return  # macOS refuses; the clock still bounds the work


if __name__ == "__main__":
    main()
