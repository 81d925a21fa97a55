import { isWeirError } from '../../core/errors.ts'
import { type Interval, RunningMean } from '../../models/quality/intervals.ts'
import { TwoWayMean } from '../../models/quality/two-way-mean.ts'
import { goldenErrors, isMeasure } from '../../models/registry/forgotten-versions.ts'
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
  /**
   * The same on what is left of each example without that which the candidate or the live version was trained on, measured
   * in this check; NaN where nothing is left. Undefined where an example is left as a whole or not at all.
   */
  readonly left?: Float32Array
}

/** Measures a version by query. */
export type MeasureVersion = (number: number) => Promise<MeasuredErrors>

/** The golden examples whose stored errors are compared. */
export interface ComparedErrors {
  /** Their places among the stored errors. */
  readonly places: readonly number[]
  /** Numbers of the user and the item of each; undefined where examples do not resemble each other. */
  readonly pairs?: readonly { readonly user: number; readonly item: number }[]
  /** Time of each, ms since 1970; undefined where one has none. */
  readonly times?: readonly number[] | undefined
  /** Why fewer versions are compared, in words. @default all are */
  readonly note?: string
}

/** Golden examples whose errors are stored, of `size`: all, or those at equal distances. */
export function storedExamples(size: number): readonly number[] {
  const stored = Math.min(MAX_STORED, size)
  return Array.from({ length: stored }, (_, n) => Math.floor((n * size) / stored))
}

/** All stored errors of a golden set of `size` examples that do not resemble each other. */
export function allCompared(size: number): ComparedErrors {
  return { places: [...storedExamples(size).keys()] }
}

/** The errors that are stored of a golden set. */
export function sampled(all: Float32Array): Float32Array {
  return Float32Array.from(storedExamples(all.length), (n) => all[n] as number)
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

/** The errors with the smallest mean over the compared examples, and this mean; undefined of no versions, or examples. */
export function bestOf(
  measured: readonly MeasuredErrors[],
  { places }: ComparedErrors,
): { readonly version: MeasuredErrors; readonly mean: number } | undefined {
  if (places.length === 0) return undefined
  const means = measured.map((version) => {
    const sum = places.reduce((total, place) => total + (version.errors[place] as number), 0)
    return { version, mean: sum / places.length }
  })
  return means.sort((a, b) => a.mean - b.mean)[0]
}

/** Mean error of one minus that of the other, on the same examples. */
export interface ErrorDifference extends Interval {
  /** It is above this with 95 % probability. */
  readonly certain: number
}

/**
 * Compares the errors of two versions, with the 95 % interval. It is much narrower than the difference of two intervals,
 * because hard examples are hard for both.
 */
export function differenceOf(
  candidate: MeasuredErrors,
  other: MeasuredErrors,
  { places, pairs }: ComparedErrors,
): ErrorDifference {
  // Errors of a checked version on what is left cannot be compared with stored ones, which are of whole examples.
  if (candidate.left !== undefined && other.left !== undefined) {
    return differenceLeft(candidate.left, other.left)
  }
  const [joined, single] = [new TwoWayMean(), new RunningMean()]
  for (const [n, place] of places.entries()) {
    const difference = (candidate.errors[place] as number) - (other.errors[place] as number)
    const pair = pairs?.[n]
    if (pair === undefined) single.add(difference)
    else joined.add(difference, pair.user, pair.item)
  }
  const mean = pairs === undefined ? single : joined
  return { ...mean.interval(), certain: mean.interval(0.9).low }
}

function differenceLeft(candidate: Float32Array, other: Float32Array): ErrorDifference {
  const mean = new RunningMean()
  for (const [n, error] of candidate.entries()) {
    if (!Number.isNaN(error)) mean.add(error - other[n]!)
  }
  return { ...mean.interval(), certain: mean.interval(0.9).low }
}

/**
 * Whether a candidate is certainly worse than another version on the newest third of the golden examples, and more so than on
 * the oldest third: what it was trained on is not what comes now. False where the examples have no times.
 */
export function isWorseOnNewest(
  candidate: MeasuredErrors,
  other: MeasuredErrors,
  compared: ComparedErrors,
): boolean {
  const { times } = compared
  if (times === undefined) return false
  const order = [...times.keys()].sort((a, b) => times[a]! - times[b]!)
  const third = Math.floor(order.length / 3)
  const on = (part: readonly number[]): ErrorDifference =>
    differenceOf(candidate, other, {
      places: part.map((n) => compared.places[n]!),
      ...(compared.pairs === undefined ? {} : { pairs: part.map((n) => compared.pairs![n]!) }),
    })
  const newest = on(order.slice(order.length - third))
  return newest.certain > 0 && newest.mean > on(order.slice(0, third)).mean
}
