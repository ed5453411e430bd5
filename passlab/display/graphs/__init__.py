"""Programs as graphs: boxes and arrows, their layout, their drawing as SVG, large graphs on a sheet."""
