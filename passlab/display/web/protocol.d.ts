// Written by `make bless` from passlab/display/protocol: change the shapes there.

/** A pass in a flame chart: how deep it is nested, its name, its milliseconds with and without those inside it. */
export type TimeData = [depth: number, name: string, total: number, own: number, note: string];

/** How long passes took. */
export interface TimingData {
  kind: string;
  title: string;
  rows: TimeData[];
}

/** The table of an instrument. */
export interface InstrumentData {
  kind: string;
  title: string;
  columns: string[];
  rows: ((string | number)[])[];
}

/** A pass that a printer showed; `body` is its error. */
export interface PrintedHead {
  when: string;
  name: string;
  sentence: string;
  outcome: string;
  body: string;
}

/** A program that a printer showed. */
export interface PrintedProgram {
  when: string;
  name: string;
  sentence: string;
  outcome: string;
  body: string;
  rows: number[];
  nodes: number[] | number[][];
  left_out: number;
}

/** A difference that a printer showed. */
export interface PrintedDiff {
  when: string;
  name: string;
  sentence: string;
  outcome: string;
  body: string;
  kinds: string;
  words: Record<string, ChangedWords>;
  operators: OperatorCount[];
  before: number[];
  after: number[];
  nodes: [number[], number[]];
}

/** What a printer showed. */
export interface PrinterData {
  kind: string;
  title: string;
  lines: LineRow[];
  texts: string[];
  steps: (PrintedHead | PrintedProgram | PrintedDiff)[];
}

/** A pass that would change a program: its name, its level, what it would do, and whether it fails. */
export type ProspectRow = [name: string, level: number, effect: string, fails: boolean];

/** The passes that would change a program. */
export interface ProspectsData {
  kind: string;
  title: string;
  rows: ProspectRow[];
}

/** The value of a line in a run. `distance` starts with ≠ where the value surely differs from its value in an earlier run. `fraction` is a part of the longest time, `first` is 1 where runs first differ. */
export type FactCells = [shape: string, range: string, nonfinite: string, distance: string, time: string, fraction: number, bytes: string, more: string, first: number];

/** A run on its program. */
export interface NodeValuesData {
  kind: string;
  title: string;
  lines: LineRow[];
  texts: string[];
  rows: number[];
  nodes: number[] | number[][];
  left_out: number;
  blame?: ProgramBlame;
  links?: number[];
  chosen?: number[][];
  facts: (FactCells | null)[];
  graph: GraphData;
}

/** A decision of an analysis: the node and line that it is about, and the states that it changed, by line. */
export interface Decision {
  sentence: string;
  phase: string;
  node: number;
  line: number;
  changed: [number, string][];
}

/** A watched analysis: the state of each line at the start, and the decisions. */
export interface SolvingData {
  kind: string;
  title: string;
  lines: LineRow[];
  texts: string[];
  rows: number[];
  nodes: number[] | number[][];
  left_out: number;
  blame?: ProgramBlame;
  links?: number[];
  chosen?: number[][];
  start: (string | null)[];
  steps: Decision[];
}

/** A line: its text, three numbers a mark (start, end, kind), three for each span of noise (filter, start, end). `values` are its operation, the names that it defines and those that it uses; 0 for a line without any. */
export type DumpLine = [text: string, marks: number[], noise: number[], values: [string, string[], string[]] | 0];

/** A row of a difference: its sign, the lines of both sides (-1: none), and the spans of words that differ. */
export type DumpRow = [sign: string, left: number, right: number, before: [number, number][], after: [number, number][]];

/** Rows that are alike and left out. */
export type FoldedRows = [folded: number];

/** A version of a unit: the step that wrote it, the first that may have, its lines (None: left out), their origins. An origin is the first step that may have written the line, and the last. `diff` leads here from the version before. `sources` has for each line the number of the set of source lines that it comes from; it is empty without any. */
export type UnitVersion = [step: number, since: number, lines: number[] | null, origins: [number, number][], diff: DumpRow[], renamed: Record<string, string>, sources: number[]];

/** A function, or an operation with a symbol, in all its versions. */
export interface UnitData {
  name: string;
  versions: UnitVersion[];
  error?: string;
}

/** A pass of a dump. `written` are the units that it wrote, `fragment` the lines of what is not a unit. `counted` is what the compiler counted in the pass. */
export type DumpStepRow = [name: string, unit: string, verdict: string, assumed: number, since: number, parent: number, phase: string, options: string, remark: string, command: string, written: number[], fragment: number[], seconds: string | null, remarks: number, counted: string];

/** A node of a compiler's own graph; `input` is 1 for one without operands. */
export type LiveBox = [name: string, text: string, input: number, change: string, key: string];

/** A compiler's own graph of a program: how many nodes and arrows it has, and the first of them. */
export interface LiveGraph {
  count: [number, number];
  boxes: LiveBox[];
  arrows: [number, number][];
}

/** The same pass in the other recording: its number, its verdict, whether the texts are the same (None: unknown). */
export type OtherStep = [number: number, verdict: string, same: boolean | null];

/** A pass that only the other recording has. */
export type LoneStep = [number: number, name: string, unit: string, verdict: string, place?: string];

/** The difference from the other recording: rows, the lines of both sides, and how many rows are left out. */
export type OtherDiff = [rows: (DumpRow | FoldedRows)[], left: number[], right: number[], more: number];

/** Another recording next to a dump, by step. */
export interface Against {
  name: string;
  pairs: Record<string, OtherStep>;
  alone: Record<string, LoneStep[]>;
  diffs: Record<string, OtherDiff>;
}

/** A line of the user's source. */
export type SourcePlace = [file: string, line: number];

/** A remark of the compiler: its place in the source, -1 without one, and the steps that may have made it. */
export type SaidRow = [kind: string, pass_name: string, text: string, place: number, first: number, last: number];

/** The passes of another compiler. A graph of a step is the number of another step if it has the same. `places` are the lines of the user's source from which lines of the programs come, and `joins` the sets of them that occur, by their numbers. `sources` has the lines of the files whose text is known. */
export interface DumpData {
  kind: string;
  title: string;
  times: TimeData[];
  remarks: string[];
  other: string;
  start: number;
  steps: DumpStepRow[];
  graphs: (LiveGraph | number | null)[];
  units: UnitData[];
  lines: DumpLine[];
  filters: string[];
  hidden: number[];
  places: SourcePlace[];
  joins: number[][];
  sources: Record<string, string[]>;
  said: SaidRow[];
  against?: Against;
}

/** The name that is followed in a dump: its unit, and the step after which it has this name. */
export interface FollowedName {
  unit?: string;
  name?: string;
  step?: number;
}

/** A line: its text, four numbers a token (start, end, kind, hover text or -1), and its type (-1: none). */
export type LineRow = [text: string, marks: number[], type: number];

/** Lines and texts, each different one once; all else refers to them by number. */
export interface LineTableData {
  lines: LineRow[];
  texts: string[];
}

/** A pass in the gutter: its label, the number of its colour, and its event. */
export type BlamePass = [label: string, colour: number, event: number];

/** The origin of a line: the number of its pass, and a text about it. */
export type LineOrigin = [blamed: number, text: number];

/** The passes of a gutter, and the origins that lines have. */
export interface BlameData {
  passes: BlamePass[];
  origins: LineOrigin[];
}

/** The origin of each line of one program; -1: the input, -2: the line defines nothing. */
export interface ProgramBlame {
  passes: BlamePass[];
  origins: LineOrigin[];
  rows: number[];
}

/** The origin of each line of each program. */
export interface RecordingBlame {
  passes: BlamePass[];
  origins: LineOrigin[];
  programs: number[][];
}

/** What the data of every view has. */
export interface ViewData {
  kind: string;
  title: string;
}

/** A program: its lines, the node of each (or several), and how many lines are left out. */
export interface ProgramRows {
  rows: number[];
  nodes: number[] | number[][];
  left_out: number;
}

/** The view of a program. `chosen` are the nodes that a click selects, if they are others; `links` are five numbers each, see `Lineage`. */
export interface ModuleData {
  kind: string;
  title: string;
  lines: LineRow[];
  texts: string[];
  rows: number[];
  nodes: number[] | number[][];
  left_out: number;
  blame?: ProgramBlame;
  links?: number[];
  chosen?: number[][];
}

/** How often an operator is called before and after a pass. */
export type OperatorCount = [name: string, before: number, after: number];

/** The spans of words that differ in a row, start and end of each; `retyped` is 1 if the type differs as well. */
export type ChangedWords = [before: number[], after: number[], retyped?: number];

/** Rows of a difference: two characters each (the kinds of both sides), and by row the words that differ. */
export interface RowChanges {
  kinds: string;
  words: Record<string, ChangedWords>;
}

/** The rows of a difference, and the operators whose number differs. */
export interface DiffRows {
  kinds: string;
  words: Record<string, ChangedWords>;
  operators: OperatorCount[];
}

/** The lines of both programs, and their nodes. */
export interface DiffLines {
  before: number[];
  after: number[];
  nodes: [number[], number[]];
}

/** What a pass changed; it has lines of its own only if they are an excerpt of the programs. */
export interface StepDiff {
  kinds: string;
  words: Record<string, ChangedWords>;
  operators: OperatorCount[];
  before?: number[];
  after?: number[];
  nodes?: [number[], number[]];
}

/** The difference of two programs. */
export interface DiffData {
  kind: string;
  title: string;
  lines: LineRow[];
  texts: string[];
  kinds: string;
  words: Record<string, ChangedWords>;
  operators: OperatorCount[];
  before: number[];
  after: number[];
  nodes: [number[], number[]];
}

/** A box: its size, kind and change, its group (-1: none), its lines, its hover text, its nodes, its family. */
export type BoxRow = [width: number, height: number, kind: string, change: string, group: number, lines: string[], tip: string, nodes: number[], family: number];

/** An arrow from one box to another. */
export type ArrowRow = [source: number, target: number, label: string];

/** A group of boxes; its parent is -1 for none. */
export type GroupRow = [number: number, parent: number, kind: string, name: string];

/** An arrow inside a piece: the places of its boxes (source -1: from outside), its label, its curve as points. */
export type PlacedArrow = [source: number, target: number, label: string, points: number[]];

/** The sides of a frame. */
export type Sides = [left: number, top: number, right: number, bottom: number];

/** The layout of a piece: the middles of its boxes (x, y, ...), and where values enter and leave (-1: nowhere). */
export interface PieceLayout {
  size: [number, number];
  at: number[];
  arrows: PlacedArrow[];
  groups: Sides[];
  entry: number;
  exit: number;
}

/** A piece of a graph: the number of its layout, its boxes, and its groups. */
export type PieceRow = [layout: number, boxes: number[], groups: number[]];

/** Bodies that follow one another with the same structure. */
export interface RepeatItem {
  name: string;
  similar: boolean;
  size: number;
  bodies: ((PieceRow | RepeatItem)[])[];
}

/** What stands in a frame: a box, or another frame as -1 - its number; its left, top corner and its size. */
export type PlacedItem = [item: number, left: number, top: number, width: number, height: number];

/** An arrow in a frame: the places of its items (source -1: from outside), its label, the boxes at its ends. */
export type FrameArrow = [source: number, target: number, label: string, origin: number, user: number, points: number[]];

/** A function, closure, fused function, choice (`if`, `match`) or arm, laid out as if everything in it were open. `parent` and `box` (what stands for it outside) are -1 for none. `rail` has what may have effects in order, and `results` what it returns, both by the place in `items`; `text` is a result that nothing in it computes. `hidden` are boxes that the title tells of. The `key` is the same in all programs in which the frame is the same. */
export interface FrameRow {
  key: string;
  kind: string;
  title: string;
  note: string;
  text: string;
  parent: number;
  box: number;
  size: [number, number];
  folded_size: [number, number];
  folded: boolean;
  items: PlacedItem[];
  arrows: FrameArrow[];
  rail: number[];
  results: number[];
  hidden: number[];
}

/** A function of a program. `calls` are the cards of what it calls; `sheet` has its pieces if it has no frames. */
export interface CardRow {
  frame: number;
  name: string;
  signature: string;
  facts: string;
  calls: number[];
  callers: number[];
  sheet: (PieceRow | RepeatItem)[];
}

/** A dataflow graph. `values` has series of numbers by box, from which boxes can take their colours. A program with functions, branches or effects has cards and frames, all other graphs have items. */
export interface GraphData {
  kind: string;
  title: string;
  fused: boolean;
  folded: boolean;
  boxes: BoxRow[];
  arrows: ArrowRow[];
  groups: GroupRow[];
  values: Record<string, (number | null)[]>;
  items: (PieceRow | RepeatItem)[];
  layouts: PieceLayout[];
  cards: CardRow[];
  frames: FrameRow[];
}

/** The error of a pass: frames (place, source), the node that it worked on, and the traceback. */
export interface Failure {
  kind: string;
  title: string;
  text: string;
  frames: [string, string][];
  node: string;
  traceback: string;
}

/** A pass of a recording. `before`, `after` and `diff` are numbers of its programs and its difference. `verdict` comes from a search: whether the program is good after the pass, and why. */
export interface StepRow {
  untyped: boolean;
  id: string;
  depth: number;
  name: string;
  outcome: string;
  ms: number;
  sentence: string;
  role: string;
  level: number | null;
  error: string;
  log: string[];
  operators: string[];
  nodes: number;
  calls: number;
  rewrites: number;
  peak: number | null;
  before: number;
  after: number;
  left_out: number;
  failure?: Failure;
  diff?: number;
  verdict?: [boolean, string];
}

/** The result of a search: whether something is wrong, sentences, texts that unfold, and the wrong nodes. */
export interface SearchVerdict {
  broken: boolean;
  sentences: string[];
  folds: [string, string][];
  nodes: number[];
}

/** A recording. While it is `partial`, programs and differences of most steps are missing. `program` and `options` are the name of the program and the options of `%passes` that would run the pipeline again. */
export interface RecordingData {
  kind: string;
  title: string;
  lines: LineRow[];
  texts: string[];
  start: number;
  partial: boolean;
  by_step: boolean;
  program: string;
  options: string;
  steps: StepRow[];
  modules: (number[] | null)[];
  blame: RecordingBlame | null;
  nodes: number[][];
  links: number[];
  diffs: (StepDiff | null)[];
  verdict?: SearchVerdict;
}

/** A rewrite: its rule, its pass, what became what, why, and the nodes that it highlights. */
export interface RewriteRow {
  rule: string;
  pass_name: string;
  title: string;
  why: string;
  nodes: number[];
}

/** A line that a search has found: its step by number, its number in the program after it (from 0), and its text. */
export type FoundLine = [step: number, line: number, text: string];

/** The rewrites of a pass that a page stores, the two sides of each, and how many are left out. */
export interface StoredRewrites {
  steps: RewriteRow[];
  parts: DiffData[];
  left: number;
}

/** An option of a pass: its name, type and default ("" where one is needed), and what it does. */
export type PassOption = [name: string, type: string, preset: string, does: string];

/** Why rules did not rewrite a node: rule, how much of its pattern fits, the pattern, the reason. */
export interface Misses {
  node: string;
  rows: string[][];
}

/** Two aligned passes: the latest step of each side, which sides have the pass, whether the programs are equal. */
export interface ComparedRow {
  at: [number, number];
  name: string;
  a: boolean;
  b: boolean;
  same: boolean;
  calls: number;
}

/** A step of one side of a comparison. */
export interface SideStep {
  id: string;
  name: string;
  outcome: string;
  role: string;
  error: string;
  ms: number;
  peak: number | null;
  nodes: number;
  calls: number;
}

/** One side of a comparison. */
export interface Side {
  name: string;
  steps: SideStep[];
}

/** A difference of the programs after two steps that a page stores; `back` describes it in the reverse direction. */
export interface PairDiff {
  kind: string;
  title: string;
  lines: LineRow[];
  texts: string[];
  kinds: string;
  words: Record<string, ChangedWords>;
  operators: OperatorCount[];
  before: number[];
  after: number[];
  nodes: [number[], number[]];
  back: string;
}

/** Two recordings, step by step. `first` is the first row that differs (-1: none), `start` the one to open with. */
export interface ComparisonData {
  kind: string;
  title: string;
  sides: [Side, Side];
  rows: ComparedRow[];
  first: number;
  start: number;
  pairs: Record<string, DiffData | PairDiff>;
}

/** A comparison in an explorer or a heat map; `other` says what the recording is compared with. */
export interface ShownComparison {
  kind: string;
  title: string;
  sides: [Side, Side];
  rows: ComparedRow[];
  first: number;
  start: number;
  pairs: Record<string, DiffData | PairDiff>;
  other: string;
}

/** A variant of a pipeline: its text, its outcome, by how many nodes its result differs, and facts about it. */
export interface HeatCell {
  text: string;
  outcome: string;
  nodes: number;
  facts: string[];
}

/** The variants of a pipeline: a row for each pass, a column for each change. */
export interface HeatMapData {
  kind: string;
  title: string;
  passes: string[];
  columns: string[];
  cells: ((HeatCell | null)[])[];
  laws: string[];
  note: string;
}

/** An error in an edited program or its pipeline: its line (from 0; -1 for none) and columns (-1: to the end). */
export interface LiveProblem {
  line: number;
  text: string;
  pipeline: boolean;
  start?: number;
  end?: number;
}

/** A function of an executable: its parameters, its first instruction, and its number of registers. */
export interface FunctionRow {
  name: string;
  params: string[];
  base: number;
  size: number;
}

/** A column for each fact about instructions, and what they refer to by number (-1: nothing). */
export interface InstructionColumns {
  texts: string[];
  names: string[];
  kinds: string[];
  operators: string[][];
  roles: number[];
  written: number[];
  reads: number[][];
  results: number[][];
  changes: number[][];
  calls: number[][];
  source: number[][];
  kernel: number[];
  histories: number[];
  nodes: number[][];
  programNodes: number[];
  places: string[];
  program: number[];
  kernels: number[][];
  biographies: string[][];
}

/** A field of an object: its text, or the number of the box that it points to (-1: none). */
export type HeapCell = [text: string, box: number];

/** An object of a value: its name, its kind, its distance from the first object, and its fields. */
export type HeapBox = [name: string, kind: string, depth: number, cells: HeapCell[]];

/** A tensor: counts, the range and histogram of its finite numbers, and its heat map, a byte a cell in base64. `grid` is the number of slices, of slices side by side, and of rows and columns of each. */
export interface TensorPicture {
  size: number;
  bytes: number;
  nan: number;
  inf: number;
  ninf: number;
  zero: number;
  rows: number;
  columns: number;
  cells: string;
  grid: [number, number, number, number];
  scale: number;
  min?: number;
  max?: number;
  mean?: number;
  std?: number;
  bins?: number[];
}

/** The values of a run; those that are not finite, pictures and heaps by number, and the pictures not yet drawn. */
export interface StepValuesData {
  texts: string[];
  nonfinite: Record<string, number>;
  pictures: Record<string, TensorPicture>;
  heaps: Record<string, HeapBox[]>;
  late: number[];
}

/** The memory of a run: live bytes by instant, and storages as blocks (born, died, lane, reused). */
export interface StorageData {
  live: [number, number][];
  peak: number;
  peakAt: number;
  total: number;
  blocks: [number, number, number, number][];
  lanes: number;
  count: number;
}

/** How a run ended: where it stands if it did not reach its end, else the number of its result. */
export interface RunEnd {
  what: "more" | "failed" | "stopped" | "ended";
  text: string;
  pc?: number;
  result?: number;
}

/** A breakpoint, and its instructions where its text alone does not say them. */
export interface BreakpointRow {
  text: string;
  points?: number[];
}

/** The log of a run; texts are packed numbers, see `passlab.display.views.stepper.pack`. */
export interface RunColumns {
  runs: string;
  runPoints: string;
  always: number[];
  value: string;
  more: Record<string, number[]>;
  micros: string;
  switches: string;
  switchedTo: string;
  parent: string;
  function: string;
  created: string;
  result: string;
  depth: string;
  given: string;
  givenCount: string;
  waits: Record<string, number>;
}

/** A recorded run. While it is `partial`, only the values near the shown instant are there. */
export interface StepperData {
  kind: string;
  title: string;
  lines: LineRow[];
  texts: string[];
  runs: string;
  runPoints: string;
  always: number[];
  value: string;
  more: Record<string, number[]>;
  micros: string;
  switches: string;
  switchedTo: string;
  parent: string;
  function: string;
  created: string;
  result: string;
  depth: string;
  given: string;
  givenCount: string;
  waits: Record<string, number>;
  executor: string;
  length: number;
  left_out: number;
  at: number;
  end: RunEnd;
  functions: FunctionRow[];
  code: InstructionColumns;
  values: StepValuesData;
  storage: StorageData;
  partial: boolean;
  breaks: BreakpointRow[];
  fork: number;
}

/** A fork of a run: where it starts, the changed registers, and how it differs (`parted`: -1 if it does not). */
export interface Branch {
  data: StepperData;
  instant: number;
  changed: number[];
  text: string;
  rows: string[][];
  head: string[];
  parted: number;
}

/** Why a run could not be forked. */
export interface BranchError {
  error: string;
}

/** Relatives of the nodes `of` in other views: the predecessors of each, the newest first, and all successors. */
export interface Related {
  of?: number[];
  before?: number[][];
  after?: number[];
}

/** Where the reader of an explorer is: the pass by its id, tab, mode, line (from 1), pixels scrolled, and the width of the list of passes in pixels. `graph` is what is seen of a graph, as `x,y,scale`: the middle of its window on the sheet, and the scale; "" for a graph that was not moved. `edits` is the pipeline of what if, "" for the recorded one. `unified` and `all` say how differences are shown. From the address of a page, all are texts. */
export interface Place {
  step?: string;
  tab?: string;
  mode?: string;
  line?: number | string;
  top?: number | string;
  width?: number | string;
  graph?: string;
  edits?: string;
  unified?: boolean | string;
  all?: boolean | string;
}

/** The selection that all widgets of a notebook share: nodes by number. */
export interface SelectionState {
  nodes: number[];
  related: Related;
}

/** The kernel has dealt with the request that has the `ticket` `done`. `problem` says why there is no answer. */
export interface Done {
  done: string;
  problem?: string;
}

/** Draw each fused function as one box, or with its operators. */
export interface GraphRequest {
  fold: boolean;
}

/** Compare the programs after two steps, one of either side. */
export interface PairRequest {
  pair: [number, number];
}

/** The difference of a pair of steps, or why it has none (`problem`), or why the request was `refused`. */
export interface ComparisonAnswer {
  pair?: string;
  data?: DiffData;
  problem?: string;
  refused?: string;
}

/** Open the variant of a pass (numbered from 1) by a change; compare a pair of steps. */
export interface HeatMapRequest {
  cell?: [number, string];
  pair?: [number, number];
}

/** The variant that was opened, or an answer about a pair. */
export interface HeatMapAnswer {
  pair?: string;
  data?: DiffData;
  problem?: string;
  refused?: string;
  opened?: string;
}

/** The model of a graph. */
export interface GraphState {
  nodes: number[];
  related: Related;
  data: GraphData;
  place?: Place;
}

/** The model of a heat map. */
export interface HeatMapState {
  nodes: number[];
  related: Related;
  data: HeatMapData;
  comparison: ShownComparison | Nothing;
}

/** What is empty so far. */
export interface Nothing {
}

/** Send the `rest`, or one more `step`; draw the `graph` of a step by its `id`; name the `others` in the notebook. `compare` with one of them, or run another pipeline (`what_if`: passes by number, or new ones as text). List the `rewrites` of a pass, or both `parts` of one, or say why a pass did not rewrite a node. `run` a pass by itself, or `find` a text in the programs after all steps. `copy` the program "before" or "after" the step `id`, or the `node` as Python. `bind` the recording of the edited pipeline to a name, or `keep` it: show it in place of this one. Say which `options` a pass has. */
export interface RecordingRequest {
  rest?: boolean;
  step?: number;
  graph?: string;
  id?: string;
  others?: boolean;
  compare?: string;
  what_if?: (number | string)[];
  rewrites?: string;
  parts?: [string, number];
  why_not?: [string, number];
  pair?: [number, number];
  run?: string;
  find?: string;
  copy?: string;
  node?: number;
  bind?: string;
  keep?: boolean;
  options?: string;
}

/** What was `copied`, as text for the clipboard. */
export interface CopiedAnswer {
  copied: string;
  text: string;
}

/** The options of a pass. */
export interface OptionsAnswer {
  options: string;
  fields: PassOption[];
}

/** The name that the recording of the edited pipeline is now `bound` to, or why not (`problem`). */
export interface BoundAnswer {
  bound: string;
  problem?: string;
}

/** The lines that have the text `found`, and how many more there are. */
export interface FoundAnswer {
  found: string;
  lines: FoundLine[];
  left: number;
}

/** The other recordings of the notebook, and the names of all passes. */
export interface OthersAnswer {
  others: string[];
  passes: string[];
}

/** The rewrites of a pass. */
export interface RewritesAnswer {
  rewrites: string;
  steps: RewriteRow[];
}

/** Both sides of a rewrite, named `pass:number`. */
export interface PartsAnswer {
  parts: string;
  data: DiffData;
}

/** Why a node was not rewritten. */
export interface MissesAnswer {
  misses: Misses;
}

/** What may follow, as (name, kind), and the offset in the text at which the word starts. */
export interface CompletedAnswer {
  completed: [string, string][];
  start: number;
}

/** Say what may follow the text `complete`, which `rest_of_text` follows now. */
export interface LiveRequest {
  rest?: boolean;
  step?: number;
  graph?: string;
  id?: string;
  others?: boolean;
  compare?: string;
  what_if?: (number | string)[];
  rewrites?: string;
  parts?: [string, number];
  why_not?: [string, number];
  pair?: [number, number];
  run?: string;
  find?: string;
  copy?: string;
  node?: number;
  bind?: string;
  keep?: boolean;
  options?: string;
  complete?: string;
  rest_of_text?: string;
}

/** The model of an explorer. `rewrites` are those that a page stores; `place` is where the reader is. */
export interface RecordingState {
  nodes: number[];
  related: Related;
  data: RecordingData;
  selected: number;
  graphs: Record<string, GraphData>;
  comparison: ShownComparison | Nothing;
  rewrites?: Record<string, StoredRewrites>;
  place?: Place;
}

/** The model of an edited program. `followed` says which passes of other cells the last run followed. */
export interface LiveState {
  nodes: number[];
  related: Related;
  data: RecordingData;
  selected: number;
  graphs: Record<string, GraphData>;
  comparison: ShownComparison | Nothing;
  rewrites?: Record<string, StoredRewrites>;
  place?: Place;
  source: string;
  pipeline: string;
  problems: LiveProblem[];
  followed: string;
}

/** The model of the passes that would change a program; `ran` is the one that ran last. */
export interface ProspectsState {
  nodes: number[];
  related: Related;
  data: RecordingData;
  selected: number;
  graphs: Record<string, GraphData>;
  comparison: ShownComparison | Nothing;
  rewrites?: Record<string, StoredRewrites>;
  place?: Place;
  prospects: ProspectsData;
  ran: string;
}

/** The model of a recording of text. */
export interface DumpState {
  nodes: number[];
  related: Related;
  data: DumpData;
  selected: number;
  picked: FollowedName;
}

/** A new value of a register. */
export interface ForkChange {
  instant: number;
  register: number;
  value: string;
}

/** Send the `rest` of the values; `draw` the picture of a value; return the run as a page; `fork` the run. */
export interface StepperRequest {
  rest?: boolean;
  draw?: number;
  export?: boolean;
  fork?: ForkChange;
}

/** The model of a stepper. `page` is the page to save. */
export interface StepperState {
  nodes: number[];
  related: Related;
  data: StepperData;
  at: number;
  pictures: Record<string, TensorPicture>;
  branch: Branch | BranchError | Nothing;
  page: string;
}

export type RecordingAnswer = BoundAnswer | CompletedAnswer | CopiedAnswer | FoundAnswer | OptionsAnswer | OthersAnswer | RewritesAnswer | PartsAnswer | MissesAnswer | ComparisonAnswer;

/** What the model of each widget holds, by the name of its script. */
export interface States {
  comparison: SelectionState & { data: ComparisonData };
  diff: SelectionState & { data: DiffData };
  dump: DumpState;
  graph: GraphState;
  heatmap: HeatMapState;
  instrument: SelectionState & { data: InstrumentData };
  live: LiveState;
  module: SelectionState & { data: ModuleData };
  pipeline: RecordingState;
  printer: SelectionState & { data: PrinterData };
  prospects: ProspectsState;
  solving: SelectionState & { data: SolvingData };
  stepper: StepperState;
  timing: SelectionState & { data: TimingData };
  values: SelectionState & { data: NodeValuesData };
}

/** What the script of each widget asks of the kernel. */
export interface Requests {
  comparison: PairRequest;
  diff: never;
  dump: never;
  graph: GraphRequest;
  heatmap: HeatMapRequest;
  instrument: never;
  live: LiveRequest;
  module: never;
  pipeline: RecordingRequest;
  printer: never;
  prospects: RecordingRequest;
  solving: never;
  stepper: StepperRequest;
  timing: never;
  values: never;
}

/** What the kernel answers. */
export interface Answers {
  comparison: ComparisonAnswer;
  diff: never;
  dump: never;
  graph: never;
  heatmap: HeatMapAnswer;
  instrument: never;
  live: RecordingAnswer;
  module: never;
  pipeline: RecordingAnswer;
  printer: never;
  prospects: RecordingAnswer;
  solving: never;
  stepper: never;
  timing: never;
  values: never;
}
