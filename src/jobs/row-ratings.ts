import type { RecordHeader } from '../batch/record-batch-format.ts'

/** Header of a published row: on how many ratings it was trained, a number as text. */
const NAME = 'ratings'

const NONE: readonly RecordHeader[] = []
const encoder = new TextEncoder()
/** Counts of most rows; a header for each row would be garbage. */
const small = Array.from({ length: 256 }, (_, ratings) => headerOf(ratings))

/** The headers of a row that was trained on so many ratings; none where nobody counted them. */
export function ratingsHeader(ratings: number | undefined): readonly RecordHeader[] {
  if (ratings === undefined) return NONE
  return small[ratings] ?? headerOf(ratings)
}

/** What the headers of a row say; undefined when they do not. */
export function ratingsIn(headers: readonly RecordHeader[]): number | undefined {
  const value = headers.find(({ key }) => key === NAME)?.value
  if (value === undefined || value === null) return undefined
  const ratings = Number(new TextDecoder().decode(value))
  return Number.isSafeInteger(ratings) && ratings >= 0 && ratings < 2 ** 32 - 1
    ? ratings
    : undefined
}

function headerOf(ratings: number): readonly RecordHeader[] {
  return [{ key: NAME, value: encoder.encode(String(ratings)) }]
}
