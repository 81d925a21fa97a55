/** Fewest columns of a line that continues another. */
const LEAST_COLUMNS = 30
/** Words of a line, each with the spaces before it: wide gaps separate columns. */
const WORD = / *[^ ]+/g

/**
 * A text whose lines are at most `columns` wide, broken between words. What continues a line starts below its
 * last column (after two spaces or more).
 */
export function wrappedLines(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => (line.length <= columns ? [line] : wrapped(line, columns)))
    .join('\n')
}

function wrapped(line: string, columns: number): string[] {
  const indent = ' '.repeat(Math.max(0, Math.min(columnOf(line), columns - LEAST_COLUMNS)))
  const lines: string[] = []
  let present = ''
  for (const [word] of line.matchAll(WORD)) {
    if (present.trim() === '' || present.length + word.length <= columns) {
      present += word
    } else {
      lines.push(present)
      present = `${indent}${word.trimStart()}`
    }
  }
  return [...lines, present]
}

/** Where the last column of a line starts. */
function columnOf(line: string): number {
  return /^(?:.*\S {2,}|\s*)/.exec(line)?.[0].length ?? 0
}
