import { isWeirError } from '../../core/errors.ts'
import { type Interval, PairedDifference } from '../../models/quality/intervals.ts'
import { goldenErrors, isMeasure, meanOf } from '../../models/registry/forgotten-versions.ts'
import type { GoldenErrors, RegisteredVersion } from '../../models/registry/version.ts'

/** Maximum number of golden examples whose errors are stored with a version. */
const MAX_STORED = 4096

/** Errors of a version on the whole golden set. */
export interface GoldenSummary {
  readonly count: number
  /** Mean squared error of ratings, or mean loss of labelled examples. */
  readonly mean: number
  /** Share of the golden pairs, or features, that the version has rows, or weights, for. */
  readonly knownShare: number
}

/** Errors of one version on a golden set. */
export interface MeasuredErrors {
  readonly number: number
  /** Undefined where the errors are those that the registry stored. */
  readonly summary: GoldenSummary | undefined
  /** Squared errors or losses of the stored examples, in the order of the golden set. */
  readonly errors: Float32Array
}

/** Measures a version by query. */
export type MeasureVersion = (number: number) => Promise<MeasuredErrors>

/** The errors that are stored of a golden set: all, or those at equal distances. */
export function sampled(all: Float32Array): Float32Array {
  const size = Math.min(MAX_STORED, all.length)
  return Float32Array.from(
    { length: size },
    (_, n) => all[Math.floor((n * all.length) / size)] as number,
  )
}

/** Errors as the registry stores them. */
export function storedErrors(id: string, { errors }: MeasuredErrors): GoldenErrors {
  const bytes = Buffer.from(errors.buffer, errors.byteOffset, errors.byteLength)
  return { golden: id, squares: bytes.toString('base64') }
}

/** The stored errors of a version on a golden set; undefined if it was measured on another one. */
function restoredErrors(version: RegisteredVersion, id: string): MeasuredErrors | undefined {
  if (version.golden?.golden !== id) return undefined
  return { number: version.number, summary: undefined, errors: goldenErrors(version) }
}

/**
 * Errors of every version that has ever been live, on the same golden set: as they were stored, or by
 * query where its rows are still served. A version that failed a check was forced; it is no measure.
 */
export async function errorsOfPromoted(
  measure: MeasureVersion,
  versions: readonly RegisteredVersion[],
  id: string,
): Promise<readonly MeasuredErrors[]> {
  const found: MeasuredErrors[] = []
  for (const version of versions) {
    if (!isMeasure(version)) continue
    const errors = restoredErrors(version, id) ?? (await served(measure, version))
    if (errors !== undefined) found.push(errors)
  }
  return found
}

async function served(
  measure: MeasureVersion,
  { number, state }: RegisteredVersion,
): Promise<MeasuredErrors | undefined> {
  if (state === 'retired') return undefined
  try {
    return await measure(number)
  } catch (error) {
    // A version that the job does not hold any more cannot be compared with.
    if (isWeirError(error)) return undefined
    throw error
  }
}

/** The errors with the smallest mean; undefined of none. */
export function bestOf(measured: readonly MeasuredErrors[]): MeasuredErrors | undefined {
  return measured.reduce<MeasuredErrors | undefined>(
    (best, each) => (best === undefined || meanOf(each.errors) < meanOf(best.errors) ? each : best),
    undefined,
  )
}

/** Mean error of one minus that of the other on the same examples, with its interval. */
export function differenceOf(candidate: MeasuredErrors, other: MeasuredErrors): Interval {
  const difference = new PairedDifference()
  for (const [i, error] of candidate.errors.entries()) {
    difference.add(error, other.errors[i] as number)
  }
  return difference.interval()
}
