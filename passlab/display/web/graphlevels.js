// How much of a graph is drawn at a scale: from afar the shapes of boxes, then their names, from near all details.

/** The scale from which details are shown, and below which only blocks have names. */
export const NEAR = 0.91,
  FAR = 0.22;

export const SHAPES = 0,
  NAMES = 1,
  DETAILS = 2;

/** How much can be read. @param {number} scale */
export const levelOf = (scale) => (scale >= NEAR ? DETAILS : scale >= FAR ? NAMES : SHAPES);
