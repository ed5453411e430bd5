"""Answers to the tour, to the lessons on loops, tracing, dataflow and search, and to the parts of one's own compiler."""

from __future__ import annotations

TOUR = "passlab.parse('def @main(%x: Tensor[(1, 8), float32], %w: Tensor[{}, float32]) {{ {} }}')"
Answers = dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]

ANSWERS: Answers = {
    "01-tour": [
        (
            (
                TOUR.format("(4, 8)", "nn.relu(nn.dense(%x, %w))"),
                TOUR.format("(4, 8)", "let %y = nn.dense(%x, %w, units=4); nn.relu(%y)"),
                TOUR.format("(4, 8)", "%0 = nn.dense(%x, %w); nn.relu(%0)"),
            ),
            (
                TOUR.format("(5, 8)", "nn.relu(nn.dense(%x, %w))"),
                TOUR.format("(8, 8)", "nn.relu(nn.dense(%x, %w))"),
                TOUR.format("(4, 8)", "nn.dense(%x, %w)"),
                TOUR.format("(4, 8)", "nn.relu(nn.relu(nn.dense(%x, %w)))"),
                TOUR.format("(4, 8)", "nn.dense(nn.relu(%x), %w)"),
                TOUR.format("(4, 8)", "nn.dense(%x, nn.relu(%w))"),
                TOUR.replace("8", "7").format("(4, 7)", "nn.relu(nn.dense(%x, %w))"),
            ),
        )
    ],
}
