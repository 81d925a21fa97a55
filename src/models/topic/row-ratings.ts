import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'

/** Header of a published row: the number of ratings that it was trained on, as text. */
const NAME = 'ratings'

const NONE: readonly RecordHeader[] = []
const encoder = new TextEncoder()
/** Headers of the counts of most rows; a header for each row would be garbage. */
const small = Array.from({ length: 256 }, (_, ratings) => headerOf(ratings))

/** The headers of a row that was trained on `ratings` ratings; none if they were not counted. */
export function ratingsHeader(ratings: number | undefined): readonly RecordHeader[] {
  if (ratings === undefined) return NONE
  return small[ratings] ?? headerOf(ratings)
}

/** The ratings in the headers of a row; undefined if there are none. */
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
