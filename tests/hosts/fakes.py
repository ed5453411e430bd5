"""Tools for the tests: small programs that behave as a compiler does, well or badly."""

import os
import sys
from pathlib import Path

# A compiler with five passes on lines of text: pass n appends a line. It knows opt's options.
FAKE = """#!{python} -ISE
import os, signal, sys, time
passes = ["sroa", "instcombine", "bad", "gvn", "dce"]
limit, out, source, prints = -1, None, None, False
words = sys.argv[1:]
words_given = list(words)
while words:
    word = words.pop(0)
    if word.startswith("-opt-bisect-limit="):
        limit = int(word.partition("=")[2])
    elif word == "-o":
        out = words.pop(0)
    elif word == "-print-changed":
        prints = True
    elif not word.startswith("-"):
        source = word
text = open(source).read()
for n, name in enumerate(passes, start=1):
    runs = limit < 0 or n <= limit
    if "-opt-bisect-limit=-1" in sys.argv or limit >= 0:
        print(f"BISECT: {{'' if runs else 'NOT '}}running pass ({{n}}) {{name}} on f", file=sys.stderr)
    if not runs:
        continue
    if name == "bad":
        {fault}
    text = text.replace("ret i32 0", f"call void @{{name}}()\\n  ret i32 0")
    if prints:
        unit = "[module]" if "-print-module-scope" in sys.argv else "f"
        sys.stderr.write(f"*** IR Dump After {{name}} on {{unit}} ***\\n{{text}}")
        sys.stderr.flush()
for word in words_given:
    if word.startswith("-pass-remarks-output="):
        with open(word.partition("=")[2], "w") as file:
            file.write("--- !Passed\\nPass: gvn\\nName: Done\\nFunction: f\\n...\\n")
if out:
    open(out, "w").write(text)
"""
FAULTS = {
    "wrong": 'text = text.replace("good", "evil")',
    "crash": "os.kill(os.getpid(), signal.SIGABRT)",
    "fail": 'sys.exit("opt: error: cannot do this")',
    "hang": "time.sleep(600)",
    "silent": "os._exit(0)",
}
PROGRAM = "define i32 @f() {\n  call void @good()\n  ret i32 0\n}\n"


def make(folder, fault, name="opt"):
    """A fake tool and its input, as a command."""
    tool = Path(folder) / name
    tool.write_text(FAKE.format(python=sys.executable, fault=FAULTS[fault]))
    tool.chmod(0o700)
    source = Path(folder) / "in.ll"
    source.write_text(PROGRAM)
    return [os.fspath(tool), "-O2", os.fspath(source)]
