import type { RecordMaker } from '../kafka/topics.ts'

const encoder = new TextEncoder()

function spread(index: number): number {
  return Math.imul(index + 1, 0x9e3779b1) >>> 0
}

function keyOf(letter: string, number: number): string {
  return `${letter}${String(number).padStart(8, '0')}`
}

/** The rows of a table, each once: a key of 9 letters, a value of 30. */
export const rowOf: RecordMaker = (index) => ({
  key: encoder.encode(keyOf('k', index)),
  value: encoder.encode(`row ${String(spread(index)).padStart(26, '.')}`),
})

/** Records whose keys are those of so many rows. */
export function recordsOf(rows: number): RecordMaker {
  return (index) => ({
    key: encoder.encode(keyOf('k', spread(index) % rows)),
    value: encoder.encode(`record ${String(index).padStart(23, '.')}`),
  })
}

/** Rows of a table, each once, whose values begin with the key of one of so many other rows. */
export function referringTo(rows: number): RecordMaker {
  return (index) => ({
    key: encoder.encode(keyOf('o', index)),
    value: encoder.encode(`${keyOf('k', spread(index) % rows)} ${String(index).padStart(20, '.')}`),
  })
}

/** Changes of so many rows, whose values begin with one of 1,000 groups. */
export function groupChanges(rows: number): RecordMaker {
  return (index) => ({
    key: encoder.encode(keyOf('u', spread(index) % rows)),
    value: encoder.encode(
      `g${String(spread(index * 7) % 1000).padStart(4, '0')} ${String(index).padStart(24, '.')}`,
    ),
  })
}
