/**
 * What the rows of a version include of what was learned online: a field of its `ready` marker. Learning
 * that starts from the rows continues there, so that it learns each observation once.
 */
export interface LearnedPart {
  /** Time of the write-back, ms since 1970. */
  readonly atMs: number
  /** Topic of the observations. */
  readonly observations: string
  /** Id of that topic. Missing in markers of earlier builds. */
  readonly observationsId?: string
  /** By partition of the observations, the first offset that was not learned; -1 where none was read. */
  readonly next: readonly number[]
  /** The deltas that are folded into the rows (`jobs/learning/write-back/folded-deltas.ts`), base64. */
  readonly folded: string
  /**
   * By partition of the deltas topic, the first offset that the rows do not include; -1 where none was read.
   * Missing in markers of earlier builds.
   */
  readonly deltas?: readonly number[]
}

/** Whether a value of a marker is a learned part. */
export function isLearnedPart(value: unknown): value is LearnedPart {
  if (typeof value !== 'object' || value === null) return false
  const part = value as Readonly<Record<string, unknown>>
  const areTexts = ['observations', 'folded'].every((name) => typeof part[name] === 'string')
  const areDeltas = part['deltas'] === undefined || isOffsets(part['deltas'])
  const isId = ['string', 'undefined'].includes(typeof part['observationsId'])
  return (
    areTexts && areDeltas && isId && Number.isSafeInteger(part['atMs']) && isOffsets(part['next'])
  )
}

function isOffsets(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => Number.isSafeInteger(each) && each >= -1)
}
