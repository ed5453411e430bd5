"""`passlab dump` and `passlab host`: what these commands do with their arguments."""

from __future__ import annotations

import argparse
import sys
import tempfile
import webbrowser
from pathlib import Path

from passlab import hosts
from passlab.dumps import Step, TextRecording, read
from passlab.dumps.filters import filters_named
from passlab.errors import Diagnostic, DumpError, PassIndexError, did_you_mean, visible
from passlab.hosts.compilers import words_of
from passlab.hosts.live import follow


def drive(options: argparse.Namespace) -> int:
    """Run `passlab host`; return the exit status: 1 where a pass is at fault or the run did not end well."""
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if options.action == "record":
        recording = hosts.record(
            words, whole=options.whole, seconds=options.seconds, save=options.save, reports=options.reports
        )
        show(recording, options.out, options.open)
        return int(bool(recording.notes and "did not end well" in recording.notes[0]))
    if options.action == "compare":
        compared = hosts.compare(words, options.against, whole=options.whole, seconds=options.seconds)
        if options.out is not None:
            compared.to_html(options.out)
        print(f"{options.out}: {compared.summary()}" if options.out is not None else compared.text())
        return 0
    check = words_of(options.check) if options.check is not None else options.match
    if options.action == "bisect":
        found = hosts.bisect(words, check, by=options.by, seconds=options.seconds)
        print(found)
        return int(found.number > 0)
    result = hosts.reduce(words, check, out=options.out, seconds=options.seconds)
    print(f"{options.out}: {result.summary()}" if options.out is not None else result)
    return 0


def show(recording: TextRecording, out: Path | None, in_browser: bool = False, static: bool = False) -> None:
    """Print a recording, or write it as a page and print what it is."""
    page = out
    if in_browser and page is None:
        page = Path(tempfile.mkdtemp()) / "passlab.html"
    if page is None:
        print(recording.text())
        return
    recording.to_html(page, static)
    print(f"{page}: {recording.summary()}")
    if recording.advice:
        print(f"for a more complete dump: {recording.advice}", file=sys.stderr)
    if in_browser:
        webbrowser.open(page.resolve().as_uri())


def dump(options: argparse.Namespace) -> int:
    """Run `passlab dump`; return the exit status."""
    if options.dump == "-" and options.open:
        return follow(sys.stdin.buffer, options.out, options.format)
    dump = sys.stdin.buffer if options.dump == "-" else Path(options.dump)
    recording = read(dump, options.format, every_pass=options.every_pass)
    for report in options.reports:
        recording.join(report)
    if options.compare is not None:
        compared = recording.compare(read(options.compare, options.format, every_pass=options.every_pass))
        if options.out is not None:
            compared.to_html(options.out, options.static)
        print(f"{options.out}: {compared.summary()}" if options.out is not None else compared.text())
        return 0
    if options.out is not None or options.open:
        show(recording, options.out, options.open, options.static)
        return 0
    if options.bisect is not None:
        culprit = recording.bisect(options.bisect, unit=options.unit)
        print(culprit)
        return int(culprit.step is not None)
    _print_part(recording, options)
    return 0


def _print_part(recording: TextRecording, options: argparse.Namespace) -> None:
    """Print the part of a dump that the options name: found lines, a step, the blame of a unit, or all of it."""
    hidden = [kind.strip() for kind in options.hide.split(",") if kind.strip()]
    filters_named(hidden)  # a misspelt one is refused, also where nothing is hidden
    if options.table is not None:
        tables = recording.tables
        if options.table not in tables:
            hint = did_you_mean(options.table, tables) or f"it has {', '.join(tables)}"
            raise DumpError(Diagnostic(f"the recording has no table `{options.table}`", hint=hint))
        print(tables[options.table]())
    elif options.find is not None:
        matches = recording.find(options.find)
        if not matches:
            print(f"no program has a line with `{visible(options.find)}`", file=sys.stderr)
        for match in matches:
            print(f"{match.unit or 'module'}: after step {match.first} to {match.last}: {visible(match.line)}")
    elif options.step is not None:
        step = _step_named(recording, options.step, options.unit)
        print(f"{step}\n{visible(recording.diff(step, unit=options.unit, filters=hidden).text())}")
        command = step.command
        print(f"run just this pass: {command}" if command else f"no command runs just it: {recording.no_command(step)}")
    elif options.unit is not None:
        print(recording.blame(options.unit).text())
    else:
        print(recording.text())


def _step_named(recording: TextRecording, name: str, unit: str | None) -> Step:
    """Return a step by its number, or the first run of a pass, on `unit` if given, that changed something."""
    try:
        step: Step = recording[int(name) if name.lstrip("-").isdigit() else name]
    except PassIndexError as error:
        raise DumpError(Diagnostic(f"there is no {error.diagnostics[0].message}")) from error
    runs = recording.where(name, unit=unit)  # none for a number, and none where only the whole module is such a unit
    return next((run for run in runs if run.verdict == "changed"), runs[0] if runs else step)
