/** A word with a digit in it: a number, an id, a time, a name that has a number. */
const NUMBER =
  /(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?)|[^\s"'`,:;=()[\]{}<>|/%]*\d[^\s"'`,:;=()[\]{}<>|/%]*/g

/** What is the same in a line of output at each run: everything but its numbers and the width of its gaps. */
export function shapeOf(line: string): string {
  return line.replace(NUMBER, '#').trim().replace(/\s+/g, ' ')
}

/** Lines that a page shows, and of which no line of the output has the shape. */
export function missingLines(shown: readonly string[], output: string): string[] {
  const shapes = new Set(output.split('\n').map(shapeOf))
  return shown.filter((line) => !shapes.has(shapeOf(line)))
}
