// The places of fields in the rows of a dump's data: see DumpStepRow, DumpLine and UnitVersion in protocol.d.ts.

// of a step
export const NAME = 0,
  UNIT = 1,
  VERDICT = 2,
  ASSUMED = 3,
  PARENT = 5,
  PHASE = 6,
  OPTIONS = 7,
  REMARK = 8,
  COMMAND = 9,
  WRITTEN = 10,
  FRAGMENT = 11,
  SECONDS = 12,
  REMARKS = 13,
  COUNTED = 14;
// of a remark of the compiler
export const KIND = 0,
  PASS = 1,
  TEXT = 2,
  PLACE = 3,
  FIRST = 4,
  LAST = 5;
// of a version of a unit
export const STEP = 0,
  SINCE = 1,
  LINES = 2,
  ORIGINS = 3,
  DIFF = 4,
  RENAMED = 5,
  SOURCES = 6;
