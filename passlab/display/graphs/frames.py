"""The frames of a program: functions, branches, clauses, closures and fused functions, each inside another.

A graph of a whole program is legible when the eye finds its structure first. So each function is a card; in it, an `if`
or a `match` is a frame whose arms stand side by side, and a closure or a fused function is a frame of its own:

    @depth(%t)
    +- match %t ------------------------------+
    | Leaf      Node(%l, _, %r)               |
    | -> 0      @depth %l      @depth %r      |
    |                 @larger                 |
    +-----------------------------------------+

An arrow carries a value that was computed in the same frame. A named value that an inner frame takes is written there
by its name; one without a name enters the frame at a port. What a title says (a condition, a parameter) has no box.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heapify, heappop, heappush

from passlab.display.graphs.dataflow import Arrow, Box, Dataflow, atom_name, pattern_text
from passlab.errors import visible
from passlab.ir.expr import Expr, Function, If, Match

PARAMS = 44  # characters of parameters that a title can say
CONDITION = 34  # characters of a condition that a title can say
CONDITION_DEPTH = 3  # operators inside one another
FAR = 8  # frames that an arrow enters, at most; a value that is used further inside is written by its name
_SIGNS = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
    "logical_and": "and", "logical_or": "or", "add": "+", "subtract": "-", "multiply": "*", "divide": "/",
}  # fmt: skip
_REFS = {"ref": "ref", "ref_read": "read", "ref_write": "write"}


@dataclass(eq=False)
class Flow:
    """A value that flows between two items of a region; an item is a box, or an inner frame as -1 - its number.

    `source` is None where the value enters the region from outside; `origin` and `user` are the boxes at both ends.
    """

    source: int | None
    target: int
    label: str
    origin: int
    user: int


@dataclass(eq=False)
class Frame:
    """A function of a module, a closure, a fused function, a choice (`if`, `match`), or an arm of a choice.

    `box` stands for it in the frame around it. `items` are its boxes and inner frames, `flows` the values between them,
    and `results` the items whose value it returns. `text` is its result where no item computes it, and `hidden` holds
    the boxes that its title tells of. `before` holds pairs of items of which the second one is evaluated later. `key`
    stands for the titles on the way to it: it is the same in programs in which the frame is the same.
    """

    number: int
    kind: str
    title: str
    parent: int | None
    box: int | None = None
    key: str = ""
    name: str = ""  # of a function of the module
    expr: Expr | None = None  # that function
    items: list[int] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    before: list[tuple[int, int]] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    effects: list[int] = field(default_factory=list)
    text: str = ""
    hidden: list[int] = field(default_factory=list)
    boxes: int = 0  # that are drawn inside it, at any depth
    depth: int = 0


@dataclass(frozen=True, eq=False)
class Program:
    """The frames of a graph, outer ones first, and what each box shows: a title, and its operands ("" for none).

    `alone` are boxes that are a fused function of one operator, which has no frame.
    """

    frames: list[Frame]
    captions: dict[int, tuple[str, str]]
    alone: frozenset[int]


def is_program(graph: Dataflow) -> bool:
    """Return whether a graph has frames: functions, branches, closures or references, and is not a network alone."""
    return any(group.kind == "definition" for group in graph.groups) or any(
        box.kind in ("branch", "ref") or (box.kind == "function" and isinstance(box.expr, Function))
        for box in graph.boxes
    )


def program_of(graph: Dataflow, title: str = "fn", effects: frozenset[Expr] = frozenset()) -> Program:
    """Return the frames of a graph; `title` names the function of one alone. It takes as long as sorting."""
    return _Reader(graph, title, effects).read()


class _Reader:
    def __init__(self, graph: Dataflow, title: str, effects: frozenset[Expr]) -> None:
        self.graph, self.title, self.effects = graph, title, effects
        self.frames: list[Frame] = []
        self.of_group: dict[int | None, int] = {}
        self.region: list[int] = []  # the frame around each box
        self.framed: dict[int, int] = {}  # the frame that a box stands for, by box
        self.arms: dict[int, list[int]] = {}  # of a choice
        self.hidden: dict[int, int] = {}  # boxes without a place, and the frames that tell of them
        self.users: list[list[int]] = [[] for _ in graph.boxes]
        for arrow in graph.arrows:
            self.users[arrow.source].append(arrow.target)
        self.captions: dict[int, tuple[str, str]] = {}
        self.alone: set[int] = set()  # groups of one box that have no frame

    def read(self) -> Program:
        self._frames()
        self.region = [self.of_group[box.group] for box in self.graph.boxes]
        for owner, number in self.framed.items():
            parent = self.frames[number].parent
            assert parent is not None
            self.region[owner] = parent
        self._tour()
        self._hide()
        self._place()
        for box in self.graph.boxes:
            self._connect(box)
        places = self._places()
        for frame in self.frames:
            frame.items = _in_order(frame, places)
        self._order_effects()
        self._name_keys()
        alone = frozenset(box.number for box in self.graph.boxes if box.group in self.alone)
        return Program(self.frames, self.captions, alone)

    # ------------------------------------------------------------ frames
    def _frame(self, kind: str, title: str, parent: int | None, box: int | None = None) -> int:
        depth = 0 if parent is None else self.frames[parent].depth + (kind != "arm")
        self.frames.append(Frame(len(self.frames), kind, title, parent, box, depth=depth))
        if box is not None:
            self.framed[box] = len(self.frames) - 1
        return len(self.frames) - 1

    def _frames(self) -> None:
        """Make the frames of all groups, and of choices and closures whose parts have no boxes."""
        graph = self.graph
        owners = {box.expr: box for box in graph.boxes if box.kind in ("branch", "function") and box.expr is not None}
        if any(group.kind != "definition" and group.parent is None for group in graph.groups) or any(
            box.group is None for box in graph.boxes
        ):
            self.of_group[None] = self._frame("definition", self.title, None)
        sizes = Counter(box.group for box in graph.boxes)
        for group in graph.groups:  # inner groups come after those around them
            outer = None if group.kind == "definition" else self.of_group[group.parent]
            owner = owners.get(group.expr) if group.expr is not None else None
            if group.kind == "branch":
                assert isinstance(group.expr, (If, Match))
                self.of_group[group.number] = self._choice(group.expr, owner, outer)[group.part]
                continue
            title = group.name
            if group.kind == "fused" and owner is None and sizes[group.number] == 1:
                assert outer is not None
                self.of_group[group.number] = outer  # a frame around one box tells nothing
                self.alone.add(group.number)
                continue
            if group.kind == "function" and isinstance(group.expr, Function):
                title = f"fn ({params_of(group.expr)})"
            elif group.kind == "definition" and isinstance(group.expr, Function):
                title = f"{group.name}({params_of(group.expr)})"
            stands = None if owner is None or group.kind == "definition" else owner.number
            self.of_group[group.number] = number = self._frame(group.kind, title, outer, stands)
            if group.kind == "definition":
                self.frames[number].name, self.frames[number].expr = group.name, group.expr
        for box in graph.boxes:
            if box.number in self.framed or box.expr is None:
                continue
            if isinstance(box.expr, (If, Match)) and box.kind == "branch":
                self._choice(box.expr, box, self.of_group[box.group])
            elif isinstance(box.expr, Function) and box.kind == "function":
                self._frame("function", f"fn ({params_of(box.expr)})", self.of_group[box.group], box.number)

    def _choice(self, expr: If | Match, owner: Box | None, outer: int | None) -> list[int]:
        """The arms of a choice; its frames are made when it is met first."""
        known = None if owner is None else self.framed.get(owner.number)
        if known is None:
            if owner is not None:
                outer = self.of_group[owner.group]
            number = None if owner is None else owner.number
            known = self._frame("choice", "if" if isinstance(expr, If) else "match", outer, number)
            names = ["then", "else"] if isinstance(expr, If) else [pattern_text(clause.lhs) for clause in expr.clauses]
            self.arms[known] = [self._frame("arm", name, known) for name in names]
        return self.arms[known]

    # ------------------------------------------------------------ places
    def _hide(self) -> None:
        """Find the boxes that have no place: what titles and operands say by name."""
        for box in self.graph.boxes:
            if box.kind in ("output", "input", "constant") or (
                box.kind == "function" and box.number not in self.framed
            ):
                self.hidden[box.number] = self.region[box.number]
        for box in self.graph.boxes:
            if box.kind == "input" and self._is_pill(box):
                del self.hidden[box.number]
        for number, frame in self.framed.items():
            owner = self.graph.boxes[number]
            if isinstance(owner.expr, If):
                self._hide_condition(owner, self.frames[frame])

    def _is_pill(self, box: Box) -> bool:
        """Whether a parameter has a box of its own: a tensor of a function of the module that operators take first."""
        type_ = None if box.expr is None else box.expr.checked_type_
        if self.frames[self.region[box.number]].kind != "definition" or not getattr(type_, "shape", True):
            return False
        takers = [self.graph.boxes[user] for user in self.users[box.number]]
        takers = [user for user in takers if user.kind in ("op", "call") and self._into(box.number, user)]
        return any(_is_first(box.number, user) for user in takers if user.kind == "op")

    def _home(self, box: int) -> int:
        """The frame around a box that is not a fused function: what it computes is known by name in all of it."""
        at = self.region[box]
        while (frame := self.frames[at]).kind == "fused" and frame.parent is not None:
            at = frame.parent
        return at

    def _into(self, source: int, user: Box) -> bool:
        """Whether a value is taken in its own frame, fused functions left aside."""
        return self._home(source) == self._home(user.number)

    def _hide_condition(self, owner: Box, frame: Frame) -> None:
        """Write a short condition into the title of an `if`; its boxes vanish if nothing else takes them."""
        inside = self._condition_boxes(owner)
        if inside is None:
            return
        words: dict[int, str] = {}
        for box in reversed(inside):  # what is inside an operator comes after it
            words[box.number] = _infix(box.name, [self._word(operand, words) for operand in box.operands])
        text = self._word(owner.operands[0], words)
        if len(text) > CONDITION:
            return
        frame.title = f"if {text}"
        for box in inside:
            self.hidden[box.number] = self.region[box.number] = frame.number

    def _condition_boxes(self, owner: Box) -> list[Box] | None:
        """The boxes that only compute the condition of an `if`, users first; None if a title cannot tell of them."""
        inside: list[Box] = []
        waiting = [(operand, 0) for operand in owner.operands[:1]]
        while waiting:
            operand, depth = waiting.pop()
            if not isinstance(operand, Arrow) or self._is_named(operand):
                continue
            box = self.graph.boxes[operand.source]
            alone = len(self.users[box.number]) == 1 and self.region[box.number] == self.region[owner.number]
            if not alone or operand.label.startswith(".") or box.kind not in ("op", "ref") or not box.operands:
                return None
            if depth == CONDITION_DEPTH:
                return None
            inside.append(box)
            waiting += [(inner, depth + 1) for inner in box.operands]
        return inside if owner.operands else None

    def _is_named(self, operand: Arrow) -> bool:
        source = self.graph.boxes[operand.source]
        return bool(source.bound) or source.number in self.hidden or source.kind == "input"

    def _word(self, operand: Arrow | Expr, words: dict[int, str]) -> str:
        """An operand of a condition as text; `words` has those that are operators."""
        if not isinstance(operand, Arrow):
            return atom_name(operand)
        source = self.graph.boxes[operand.source]
        return words.get(source.number) or f"{_name(source)}{_part(operand)}"

    def _place(self) -> None:
        for box in self.graph.boxes:
            if box.number in self.framed:
                continue
            if box.number in self.hidden:
                self.frames[self.hidden[box.number]].hidden.append(box.number)
            else:
                self.frames[self.region[box.number]].items.append(box.number)
        for frame in self.frames:
            if frame.parent is not None and frame.kind != "arm":
                self.frames[frame.parent].items.append(-1 - frame.number)
        for frame in reversed(self.frames):
            frame.boxes += sum(item >= 0 for item in frame.items)
            if frame.parent is not None:
                self.frames[frame.parent].boxes += frame.boxes + (frame.box is not None)

    # ------------------------------------------------------------ values
    def _connect(self, box: Box) -> None:
        """Add the flows into a box, and what it says of its operands."""
        frame = None if box.number not in self.framed else self.frames[self.framed[box.number]]
        words: list[str] = []
        if box.number in self.hidden and box.kind != "output":
            for source in [self.graph.boxes[operand.source] for operand in box.operands if isinstance(operand, Arrow)]:
                self._follow_name(source.number, box.number)
            return
        for place, operand in enumerate(box.operands):
            if not isinstance(operand, Arrow):
                words.append(atom_name(operand))
            elif box.kind == "output":
                self._result(self.frames[self.region[box.number]], operand)
            elif frame is not None and (frame.kind != "choice" or place):
                inner = self.arms.get(frame.number, [])
                self._result(self.frames[inner[place - 1]] if place <= len(inner) and place else frame, operand)
            else:
                words.append(self._operand(operand, box))
        if frame is not None:
            if frame.kind == "choice" and words and frame.title in ("if", "match"):
                frame.title = f"{frame.title} {words[0]}"
            if box.bound:
                frame.title = f"{box.bound} = {frame.title}"
            return
        self.captions[box.number] = _caption(box, words)

    def _operand(self, arrow: Arrow, user: Box) -> str:
        """Draw the arrow of an operand, or return its name."""
        source = self.graph.boxes[arrow.source]
        part = _part(arrow)
        named = self._is_named(arrow)
        inside = self._into(source.number, user)
        if arrow.label.endswith("callee") and named:
            self._follow_name(source.number, user.number)
            return ""
        far = self.frames[self.region[user.number]].depth - self.frames[self.region[source.number]].depth > FAR
        if source.number in self.hidden or ((named or far) and not inside) or (user.kind == "ref" and named):
            self._follow_name(source.number, user.number)
            return f"{_name(source)}{part}"
        self._flow(source.number, user.number, part)
        return "•"

    def _follow_name(self, source: int, user: int) -> None:
        """Keep a value above the frame that takes it by name."""
        if source in self.hidden:
            return
        home = self._home(source)
        item, target = self._item_in(home, source), self._item_in(home, user)
        if item is not None and target is not None and item != target:
            self.frames[home].before.append((item, target))

    def _result(self, frame: Frame, arrow: Arrow) -> None:
        """Mark what a function or an arm returns, or write it if nothing in it computes it."""
        source = self.graph.boxes[arrow.source]
        part = _part(arrow)
        item = None if source.number in self.hidden else self._item_in(frame.number, source.number)
        if item is None:
            frame.text = f"{_name(source)}{part}"
            self._follow_name(source.number, frame.box if frame.box is not None else arrow.target)
        else:
            frame.results.append(item)

    def _item(self, box: int) -> int:
        return -1 - self.framed[box] if box in self.framed else box

    def _tour(self) -> None:
        """Number the frames on a walk from outside to inside: those inside one are numbered up to its last."""
        inner: list[list[int]] = [[] for _ in self.frames]
        tops: list[int] = []
        for frame in self.frames:
            (tops if frame.parent is None else inner[frame.parent]).append(frame.number)
        self.enter, self.last = [0] * len(self.frames), [0] * len(self.frames)
        self.inner = inner
        count = 0
        stack = [(top, False) for top in reversed(tops)]
        while stack:
            number, done = stack.pop()
            if done:
                self.last[number] = count
                continue
            count += 1
            self.enter[number] = count
            stack.append((number, True))
            stack.extend((kid, False) for kid in reversed(inner[number]))

    def _holds(self, frame: int, box: int) -> bool:
        return self.enter[frame] <= self.enter[self.region[box]] <= self.last[frame]

    def _item_in(self, home: int, box: int) -> int | None:
        """The item of a frame that is or holds a box; None if the box is outside of it."""
        if self.region[box] == home:
            return self._item(box)
        if not self._holds(home, box):
            return None
        kids = self.inner[home]  # in the order of the walk
        at = bisect_right(kids, self.enter[self.region[box]], key=self.enter.__getitem__) - 1
        return -1 - kids[at]

    def _flow(self, source: int, user: int, label: str) -> None:
        """Draw a value from the frame that computes it into the frame of its user, through all frames between."""
        item, at = self._item(user), self.region[user]
        while not self._holds(at, source):
            frame = self.frames[at]
            if frame.kind != "choice":
                frame.flows.append(Flow(None, item, "", source, user))
            if frame.kind != "arm":  # an arm is not an item of its choice
                item = -1 - at
            assert frame.parent is not None
            at = frame.parent
        inside = self._item_in(at, source)
        if inside is not None and inside != item and self.frames[at].kind != "choice":
            self.frames[at].flows.append(Flow(inside, item, label, source, user))

    def _places(self) -> dict[int, int]:
        """When each item is evaluated; a frame that no box stands for, with the last of its boxes."""
        places = {box.number: box.place for box in self.graph.boxes}
        for frame in reversed(self.frames):
            inside = [places[item] for item in frame.items]
            inner = [places[-1 - arm] for arm in self.arms.get(frame.number, ())]
            own = max([*inside, *inner], default=-1)
            places[-1 - frame.number] = own if frame.box is None else places[frame.box]
        return places

    def _name_keys(self) -> None:
        """Give each frame its key: a hash of the titles around it and its own, with a number if it is not alone."""
        counts: dict[str, int] = {}
        for frame in self.frames:
            title = frame.name if frame.kind == "definition" else f"{frame.kind} {frame.title}"
            outer = "" if frame.parent is None else self.frames[frame.parent].key
            counts[f"{outer}/{title}"] = count = counts.get(f"{outer}/{title}", 0) + 1
            frame.key = blake2b(f"{outer}/{title}/{count}".encode(), digest_size=9).hexdigest()

    def _order_effects(self) -> None:
        """Order what may have an effect, in the order of the program: one below the other."""
        if not self.effects:
            return
        owners = {-1 - frame.number: frame.box for frame in self.frames if frame.box is not None}
        for frame in self.frames:
            boxes = [(item, item if item >= 0 else owners.get(item)) for item in frame.items]
            frame.effects = [
                item for item, box in boxes if box is not None and self.graph.boxes[box].expr in self.effects
            ]


def _in_order(frame: Frame, place: dict[int, int]) -> list[int]:
    """The items of a frame, values before their uses as far as there are no cycles, otherwise as in the program."""
    waiting = dict.fromkeys(frame.items, 0)
    after: dict[int, list[int]] = {item: [] for item in frame.items}
    pairs = [(flow.source, flow.target) for flow in frame.flows if flow.source is not None] + frame.before
    for source, target in pairs:
        if source != target and source in after and target in waiting:
            after[source].append(target)
            waiting[target] += 1
    heap = [(place[item], item) for item in frame.items if not waiting[item]]
    heapify(heap)
    order: list[int] = []
    while heap:
        _, item = heappop(heap)
        order.append(item)
        for target in after[item]:
            waiting[target] -= 1
            if not waiting[target]:
                heappush(heap, (place[target], target))
    return [*order, *(item for item in frame.items if waiting[item])]


# ---------------------------------------------------------------- words
def params_of(function: Function) -> str:
    """Return the names of a function's parameters; of many, the first ones and how many there are more."""
    names = [f"%{visible(param.name_hint)}" for param in function.params]
    shown, room = 0, PARAMS
    while shown < len(names) and room >= len(names[shown]):
        room -= len(names[shown]) + 2
        shown += 1
    if shown == len(names):
        return ", ".join(names)
    return ", ".join([*names[: max(1, shown)], f"{len(names) - max(1, shown)} more"]) if len(names) > 1 else names[0]


def _infix(name: str, words: Sequence[str]) -> str:
    """An operator of a condition as text."""
    name = _REFS.get(name, name.rpartition(".")[2])
    if name in _SIGNS and len(words) == 2:
        return f"{words[0]} {_SIGNS[name]} {words[1]}"
    return f"{'not' if name == 'logical_not' else name} {', '.join(words)}"


def _part(arrow: Arrow) -> str:
    """The field of a tuple that an arrow carries, as `.0`."""
    return arrow.label.partition(" ")[0] if arrow.label.startswith(".") else ""


def _is_first(source: int, user: Box) -> bool:
    return bool(user.operands) and isinstance(user.operands[0], Arrow) and user.operands[0].source == source


def _name(box: Box) -> str:
    """The name of a value: what a `let` calls it, otherwise the name of its box."""
    return box.bound or box.name


def _caption(box: Box, words: Sequence[str]) -> tuple[str, str]:
    """The title of a box, and its operands; a bullet is one that comes by an arrow."""
    name = _REFS.get(box.name, box.name) if box.kind == "ref" else box.name
    words = [word for word in words if word]
    if box.kind == "ref" and words and words[0] != "•":
        name, words = f"{name} {words[0]}", words[1:]
    title = f"{box.bound} = {name}" if box.bound else name
    if all(word == "•" for word in words):
        return title, ""
    return title, ", ".join([*words[:2], f"{len(words) - 2} more"] if len(words) > 4 else words)
