/** One range of an `Accept` header. */
interface MediaRange {
  readonly type: string
  readonly quality: number
}

/**
 * The one of `types` that an `Accept` header prefers (RFC 9110, 12.5.1), the first of equals; undefined if it
 * allows none. Without the header any is right.
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  types: readonly T[],
): T | undefined {
  if (accept === undefined || accept.trim() === '') return types[0]
  const ranges = accept.split(',').map(rangeOf)
  let best: T | undefined
  let bestQuality = 0
  for (const type of types) {
    const quality = qualityOf(type, ranges)
    if (quality <= bestQuality) continue
    best = type
    bestQuality = quality
  }
  return best
}

function rangeOf(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = weight === undefined ? 1 : Number(weight.slice(2))
  return { type, quality: quality >= 0 && quality <= 1 ? quality : 0 }
}

/** The quality of the most specific range that holds a type; 0 if none does. */
function qualityOf(type: string, ranges: readonly MediaRange[]): number {
  const [kind] = type.split('/')
  for (const wanted of [type, `${kind}/*`, '*/*']) {
    const range = ranges.find((one) => one.type === wanted)
    if (range !== undefined) return range.quality
  }
  return 0
}
