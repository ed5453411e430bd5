"""The styles of static HTML, and colours that are legible on white and on black.

Without a widget, it is unknown whether the page is light or dark, and untrusted notebooks keep neither style
sheets nor variables. So every text colour is a hue mixed with the page's text colour, which contrasts with both, and
every background is translucent. Pictures use the pure hues (`HUES`). Widgets have their own style sheet, which follows
the theme.
"""

from __future__ import annotations

HUES = {
    "muted": "#707783",
    "blue": "#2577d4",
    "violet": "#8f5bd8",
    "teal": "#1e828c",
    "green": "#2d874b",
    "amber": "#a46a12",
    "olive": "#77801a",
    "rust": "#c15729",
    "pink": "#c2408f",
    "red": "#d04551",
}


def ink(name: str) -> str:
    """Return the text colour of a hue: mixed with the text colour of the page."""
    return f"color-mix(in srgb,{HUES[name]} 58%,currentColor)"


PAPER, BLACK = "#ffffff", "#101216"


def mixed(one: str, share: float, other: str) -> str:
    """Return a colour of which a share is one colour, and the rest another: `#rrggbb` of two such."""
    parts = [(int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in parts)


def tint(hue: str, share: float) -> str:
    """Return the colour of a surface in a picture: a share of a hue on white, also on a page that is dark."""
    return mixed(hue, share, PAPER)


def dark(hue: str) -> str:
    """Return the colour of text of a hue in a picture, which contrasts with every tint."""
    return mixed(hue, 0.8, BLACK)


MUTED = "color-mix(in srgb,currentColor 74%,transparent)"
BLUE, VIOLET, TEAL, GREEN = ink("blue"), ink("violet"), ink("teal"), ink("green")
AMBER, RUST, PINK, RED = ink("amber"), ink("rust"), ink("pink"), ink("red")

KIND_COLOURS = {
    "keyword": VIOLET,
    "op": BLUE,
    "global": TEAL,
    "constructor": TEAL,
    "temporary": MUTED,
    "attribute": AMBER,
    "constant": GREEN,
    "type": MUTED,
    "comment": MUTED,
}

CODE = "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:12px;line-height:18px"
PROSE = "font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:13px;line-height:20px"
RULE = "1px solid rgba(128,128,128,.28)"
BOX = f"border:{RULE};border-radius:6px;margin:6px 0;overflow:auto;max-height:520px"
TABLE = "border-collapse:collapse;table-layout:auto;border:0;margin:0"
HEAD = f"text-align:left;font-weight:600;padding:4px 10px;color:{MUTED};border:0;border-bottom:{RULE};{PROSE}"
CELL = f"text-align:left;vertical-align:top;padding:3px 10px;border:0;{PROSE}"
NUMBER = "text-align:right;font-variant-numeric:tabular-nums"

# For each kind of row of a diff: the sign in the gutter, its colour, the veil of the line, the veil of its words.
ROWS = {
    " ": ("", MUTED, "rgba(128,128,128,.06)", ""),
    "=": ("", MUTED, "", ""),
    "~": ("~", BLUE, "rgba(56,139,253,.07)", ""),
    "*": ("±", AMBER, "rgba(210,153,34,.10)", "rgba(210,153,34,.38)"),
    "-": ("−", RED, "rgba(248,81,73,.12)", "rgba(248,81,73,.32)"),
    "+": ("+", GREEN, "rgba(46,160,67,.13)", "rgba(46,160,67,.34)"),
    "<": ("<", BLUE, "rgba(56,139,253,.10)", ""),
    ">": (">", BLUE, "rgba(56,139,253,.10)", ""),
}

# For each outcome of a pass: a sign that differs by shape too, its colour, and its name.
OUTCOMES = {
    "input": ("▸", MUTED, "input"),
    "changed": ("●", GREEN, "changed"),
    "unchanged": ("○", MUTED, "unchanged"),
    "skipped": ("–", MUTED, "skipped"),
    "failed": ("✕", RED, "failed"),
    "running": ("…", AMBER, "running"),
}
