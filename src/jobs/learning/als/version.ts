import { WeirError } from '../../../core/errors.ts'
import { type LearnerRuleOptions, learnerRule, ruleOfKind } from '../../../kinds/learner-rules.ts'
import { ratingNoise } from '../../../models/als/online/prior.ts'
import type { OnlineRule } from '../../../models/als/online/rule.ts'
import type { ModelMoments } from '../../../models/als/online/rules.ts'
import { publishedMoments } from '../../../models/als/published-moments.ts'
import { RowMoments } from '../../../models/als/row-moments.ts'
import { type Feedback, feedbackOf } from '../../../models/feedback.ts'
import { largestSquaredError } from '../../../models/quality/drift-monitor.ts'
import type { PrequentialOptions } from '../../../models/quality/prequential-error.ts'
import type { RatingRange } from '../../../models/ratings/rating.ts'
import type { ModelVersionMarker } from '../../../models/registry/version-marker.ts'
import { RatingMeasures } from '../error/rating-measures.ts'
import type { LearnableVersion } from '../messages.ts'
import { ComparedVersion } from '../stops/stage.ts'

/** Metadata of a version, from its marker. */
export interface AlsVersionMetadata extends LearnableVersion {
  /** Floats of a row; undefined in checkpoints of earlier builds, where all versions have those of the job. */
  readonly dimension?: number | undefined
  readonly biased: boolean
  readonly feedback: Feedback
  readonly globalMean: number
  readonly minRating: number
  readonly maxRating: number
  /** Variance of a rating around its prediction; undefined where the publisher did not say the error of the training. */
  readonly noise?: number | undefined
  /** The rule of its kind, where that has one of its own: the job's rule, with the options of the version. */
  readonly own?: LearnerRuleOptions | undefined
  /** Moments of its rows as they were published; undefined where the publisher did not say them. */
  readonly published?: EncodedMoments | undefined
}

/** Moments of the rows of both sides as they are sent and kept (`RowMoments.encode`). */
export interface EncodedMoments {
  readonly user: Float64Array
  readonly item: Float64Array
}

/** What a version is learned with. */
export interface LearnedVersionOptions {
  /** Floats of a row of a version that does not say them. */
  readonly dimension: number
  readonly rule: LearnerRuleOptions
  readonly prequential?: PrequentialOptions
  /** Learning goes on also where it has certainly made the predictions worse. @default false */
  readonly neverStop?: boolean
}

/** A version that is learned on: its rule and its constants, the same in every slot. */
export class LearnedVersion extends ComparedVersion {
  readonly metadata: AlsVersionMetadata
  readonly moments: EncodedMoments
  /** Begins again where what was learned is forgotten. */
  rule: OnlineRule
  readonly measures: RatingMeasures
  readonly range: RatingRange
  private readonly newRule: () => OnlineRule
  /** Where new users and items start, [dimension]. */
  readonly coldUser: Float32Array
  readonly coldItem: Float32Array

  constructor(
    metadata: AlsVersionMetadata,
    moments: EncodedMoments,
    options: LearnedVersionOptions,
  ) {
    super()
    const { rule, prequential } = options
    const { biased, globalMean, noise, minRating, maxRating } = metadata
    this.metadata = metadata
    this.moments = moments
    const decoded: ModelMoments = {
      user: RowMoments.decode(moments.user),
      item: RowMoments.decode(moments.item),
    }
    const { dimension } = decoded.user
    const shape = { dimension, biased }
    const facts = { globalMean, ...(noise === undefined ? {} : { noise }), moments: () => decoded }
    this.newRule = () => learnerRule(shape, metadata.own ?? rule, facts)
    this.rule = this.newRule()
    this.range = { min: minRating, max: maxRating }
    const largest = metadata.feedback === 'implicit' ? 1 : largestSquaredError(this.range)
    this.measures = new RatingMeasures(largest, prequential)
    this.coldUser = coldRow(decoded.user, biased ? dimension - 1 : -1)
    this.coldItem = coldRow(decoded.item, biased ? dimension - 2 : -1)
  }

  override advanceTo(phase: number): boolean {
    const forgets = super.advanceTo(phase)
    if (forgets) this.rule = this.newRule()
    return forgets
  }
}

/** The mean row; its constant column is exactly 1. */
function coldRow(moments: RowMoments, constant: number): Float32Array {
  const row = Float32Array.from(moments.mean())
  if (constant >= 0) row[constant] = 1
  return row
}

/** The metadata of a version that its marker describes. */
export function alsVersionMetadata(
  version: number,
  marker: ModelVersionMarker,
): AlsVersionMetadata {
  const { dimension, biased, globalMean } = marker
  const minRating = marker.minRating ?? Number.NEGATIVE_INFINITY
  const maxRating = marker.maxRating ?? Number.POSITIVE_INFINITY
  return {
    version,
    dimension,
    biased,
    feedback: feedbackOf(marker.hyperparameters),
    globalMean,
    minRating,
    maxRating,
    noise: ratingNoise(marker.metrics['trainRmse'], { min: minRating, max: maxRating }),
    own: ruleOfKind(marker.hyperparameters),
    published: publishedMoments(marker),
  }
}

/** The constants of all slots' rows: moments are sums. */
export function mergedMoments(parts: readonly EncodedMoments[]): EncodedMoments {
  return {
    user: merged(parts.map(({ user }) => user)),
    item: merged(parts.map(({ item }) => item)),
  }
}

function merged(parts: readonly Float64Array[]): Float64Array {
  const [first, ...others] = parts.map((part) => RowMoments.decode(part))
  for (const other of others) first!.merge(other)
  return first!.encode()
}

const FORMAT = 1

/**
 * A version's constants as operator state:
 *
 *   | format u8 | length of the JSON u32 | JSON of the metadata and the counts of numbers
 *   | float64 of the user moments | float64 of the item moments |
 */
export function encodeVersion(metadata: AlsVersionMetadata, moments: EncodedMoments): Uint8Array {
  const { user, item } = moments
  const { published: _, resumeOffsets: __, feedback, ...kept } = metadata
  const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)
  const json = Buffer.from(
    JSON.stringify({
      ...kept,
      // Explicit versions have the bytes that earlier builds read.
      ...(feedback === 'implicit' ? { feedback } : {}),
      minRating: finite(metadata.minRating),
      maxRating: finite(metadata.maxRating),
      user: user.length,
      item: item.length,
    }),
  )
  const head = Buffer.alloc(5)
  head.writeUInt8(FORMAT)
  head.writeUInt32LE(json.length, 1)
  return Buffer.concat([head, json, bytesOf(user), bytesOf(item)])
}

/** Reads `encodeVersion`. Throws UNSUPPORTED_VERSION. */
export function decodeVersion(bytes: Uint8Array): {
  readonly metadata: AlsVersionMetadata
  readonly moments: EncodedMoments
} {
  const buffer = Buffer.from(bytes)
  if (buffer[0] !== FORMAT) {
    throw new WeirError('UNSUPPORTED_VERSION', `a learned version of format ${buffer[0]}`)
  }
  const end = 5 + buffer.readUInt32LE(1)
  const json = JSON.parse(buffer.toString('utf8', 5, end)) as Record<string, number | null> & {
    biased: unknown
    feedback: unknown
    own: LearnerRuleOptions | undefined
  }
  const split = end + 8 * (json['user'] ?? 0)
  return {
    metadata: {
      version: json['version'] ?? 0,
      dimension: json['dimension'] ?? undefined,
      biased: json.biased === true,
      feedback: json.feedback === 'implicit' ? 'implicit' : 'explicit',
      globalMean: json['globalMean'] ?? 0,
      minRating: json['minRating'] ?? Number.NEGATIVE_INFINITY,
      maxRating: json['maxRating'] ?? Number.POSITIVE_INFINITY,
      noise: json['noise'] ?? undefined,
      own: json.own,
    },
    moments: {
      user: numbersOf(buffer.subarray(end, split)),
      item: numbersOf(buffer.subarray(split)),
    },
  }
}

/** The sums that a version's rule learned over all rows, as operator state: `| version f64 | float64 ... |`. */
export function sharedBytes({ metadata, rule }: LearnedVersion): Uint8Array[] {
  if (rule.shared === undefined) return []
  return [new Uint8Array(Float64Array.of(metadata.version, ...rule.shared).buffer)]
}

/** Reads `sharedBytes`, and the errors of a checkpoint of before the windows were state, which begin alike. */
export function versionNumbersOf(bytes: Uint8Array): { version: number; numbers: Float64Array } {
  const numbers = numbersOf(bytes)
  return { version: numbers[0]!, numbers: numbers.subarray(1) }
}

function bytesOf(numbers: Float64Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
}

function numbersOf(bytes: Uint8Array): Float64Array {
  return new Float64Array(Uint8Array.from(bytes).buffer)
}
