/**
 * Ranks what a search of the manual finds. Sphinx asks for pages that hold every word, and ranks them by one of the
 * words; people type whole questions. Here each word counts by how rare it is, three times as much in a heading as in
 * the text, most in the title, and a page is found if it holds the larger part of the question.
 */
const NAME = 17; // of a word in the title of a page
const TITLE = 15; // in one of its headings
const TEXT = 5;
const MOST = 30; // pages that an answer lists

// Words that people type for what a page calls otherwise: they count as words of its headings.
const TYPED = `
develop/architecture: contribute contributing internals source developer design
explanation/comparison: alternative alternatives versus vs compared competitor difference
explanation/numeric-contracts: tolerance atol rtol ulp floating point precision allclose
explanation/recordings-are-cheap: cost overhead sharing free cache
explanation/sharp-bits: gotcha gotchas pitfalls surprising caveats
explanation/speed: benchmark fast slow performance latency long take duration
how-to/comparing-pipelines: ab pass order ordering phase what-if ablation
how-to/course: homework grading students teacher class canvas moodle assignment solution solutions answers answer certificate
how-to/devices: gpu cuda accelerator heterogeneous placement number cores
how-to/finding-faults: bisect bisection miscompile miscompilation wrong result incorrect bug git optimization accuracy debug delta reduce reduction shrink minimise minimize creduce testcase report validate validation
how-to/for-compiler-engineers: pandas dataframe json csv picture figure paper png svg plot export level optimization peak visualize visualise draw
how-to/for-model-owners: convert conversion inference optimise optimize variable length dynamic shape benchmark latency memory checkpoint deploy performance safetensors fp16 cancel accuracy activations intermediate layer layers
how-to/for-pass-authors: ir dump debug unit regression ci pytest transformation optimization custom own visitor mutator ast walk traverse create insert node build
how-to/for-teachers: slides slide presentation powerpoint
how-to/fuzzing: fuzzer random seed reproducible property testing hypothesis nnsmith
how-to/gcc: gimple rtl tree ipa
how-to/importing-models: tensorflow keras tflite tf2onnx load checkpoint netron unsupported safetensors batchnorm
how-to/importing-pytorch: huggingface transformers torchvision timm fx aten nn.module jit trace script state_dict
how-to/llvm: clang opt llc pass-manager newpm time-trace timetrace remark remarks missed vectorize
how-to/mlir: dialect iree mlir-opt
how-to/old-programs: tvm import porting migrate migration modulenotfounderror
how-to/recordings: share send colleague email report html page export
how-to/running: executor interpreter jit backend cpu numba performance
how-to/searching-on-several-machines: multiprocessing parallel cluster slurm distributed cancel
how-to/shipping: deploy production serialize export standalone docker edge
how-to/time-travel: reverse backwards debugger gdb rr step watchpoint through trace program run
how-to/torch-compile: inductor dynamo graph break guard tlparse pytorch
how-to/triton: gpu ptx sass ttir ttgir cuda kernel
how-to/troubleshooting: faq help problem crash crashed died killed install setup upgrade docker container offline proxy internet windows macos linux permission slow freeze freezes stuck spinner empty white blank broken telemetry privacy error message traceback oom applied nothing infinite loop endless bug issue cost free price
how-to/writing-a-pass: custom own optimization transformation create tutorial
how-to/writing-an-exercise: quiz homework task autograder
how-to/writing-an-operator: custom own op kernel relation schema
how-to/xla: jax hlo stablehlo tensorflow
lessons/03-types-by-hand: relation unification
lessons/10-operator-fusion: explained epilogue
lessons/12-gradients: backprop autodiff backward training differentiation
lessons/13-layouts: nhwc nchw transpose
lessons/13b-precision: fp16 half bfloat16 amp
lessons/13c-quantisation: int8 quantization qat calibration
lessons/16-dynamic-shapes: variable length
lessons/index: course tutorial learn beginner exercises
reference/command-line: cli terminal shell script options
reference/errors: exception exceptions mismatch catch undefined unbound undeclared
reference/glossary: definition term terms meaning
reference/hosts: kaggle deepnote databricks vscode pycharm colab jupyterlite accessibility screen reader colour color blind contrast
reference/keys: shortcut shortcuts hotkey hotkeys cheat sheet cheatsheet zoom font size
reference/language: syntax grammar bnf ebnf
reference/limits: recursion depth truncated long output timeout quota too
reference/notebook: accessibility screen reader colour color blind contrast legend
reference/operators: op ops supported layer nhwc nchw layout signature
reference/ownership: copy alias mutate thread threads concurrent
reference/passes: dce dead code elimination cse inlining optimization optimisation list
reference/relay-text: syntax comments literal
reference/versions: changelog semver upgrade release deprecation deprecated python compatibility supported mypy pyright types typing stubs roadmap plan future
tutorials/first-hour-torch-compile: inductor dynamo graph break
`;

/** The points that titles and TYPED give pages, which are numbers of the index, by the stem of a word. */
function namedPages(index) {
  const stemmer = new Stemmer();
  const pages = new Map();
  const add = (word, page, points) => {
    const stem = stemmer.stemWord(word.toLowerCase());
    pages.set(stem, new Map(pages.get(stem)).set(page, points));
  };
  for (const line of TYPED.trim().split("\n")) {
    const [page, words] = line.split(": ");
    for (const word of words.split(" ")) add(word, index.docnames.indexOf(page), TITLE);
  }
  index.titles.forEach((title, page) => {
    for (const word of title.match(/\w+/g) ?? []) add(word, page, NAME);
  });
  return pages;
}

/** The points of each page for a word. */
function pagesWith(word, index, named) {
  const exact = table => (Object.hasOwn(table, word) ? [table[word]] : []);
  const partial = table => Object.keys(table).filter(key => key.startsWith(word)).map(key => table[key]);
  const found = new Map();
  for (const [table, points] of [[index.terms, TEXT], [index.titleterms, TITLE]]) {
    const whole = exact(table);
    const lists = whole.length || word.length < 4 ? whole : partial(table);
    for (const page of lists.flat()) found.set(page, Math.max(found.get(page) ?? 0, whole.length ? points : points / 2));
  }
  for (const [page, points] of named.get(word) ?? []) found.set(page, points);
  return found;
}

if (typeof Search !== "undefined") {
  Search.performTermsSearch = (words, excluded) => {
    const index = Search._index;
    const named = namedPages(index);
    const without = new Set([...excluded].flatMap(word => [...pagesWith(word, index, named).keys()]));
    const scores = new Map();
    const held = new Map();
    let all = 0;
    for (const word of words) {
      const pages = pagesWith(word, index, named);
      if (!pages.size) continue;
      const weight = Math.log(1 + index.docnames.length / Math.max(pages.size, 1));
      all += weight;
      for (const [page, points] of pages) {
        scores.set(page, (scores.get(page) ?? 0) + weight * points);
        held.set(page, (held.get(page) ?? 0) + weight);
      }
    }
    const isFound = page => held.get(page) >= all * 0.45 && !without.has(page);
    const likeliest = [...scores].filter(([page]) => isFound(page)).sort((a, b) => b[1] - a[1]).slice(0, MOST);
    return likeliest.map(([page, score]) =>
      [index.docnames[page], index.titles[page], "", null, score / all, index.filenames[page], SearchResultKind.text]);
  };
}
