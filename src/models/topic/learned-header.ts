import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'

/** Header of a row that was learned online and written back. */
const NAME = 'learned'
const HEADER: RecordHeader = { key: NAME, value: null }

/** The header that marks a row as written back. */
export function learnedHeader(): RecordHeader {
  return HEADER
}

/** Whether a row was written back. */
export function isLearned(headers: readonly RecordHeader[]): boolean {
  return headers.some(({ key }) => key === NAME)
}
