import { WeirError } from '../core/errors.ts'
import type { ModelVersionMarker } from '../models/model-version-marker.ts'
import type { OnlineRule } from '../models/online-rule.ts'
import { type ModelMoments, type OnlineRuleOptions, onlineRule } from '../models/online-rules.ts'
import { PrequentialError, type PrequentialOptions } from '../models/prequential-error.ts'
import { publishedMoments } from '../models/published-moments.ts'
import type { RatingRange } from '../models/rating.ts'
import { RowMoments } from '../models/row-moments.ts'
import type { LearningPlace } from './online-places.ts'

/** What the marker of a version tells a learner. */
export interface VersionFacts {
  readonly version: number
  readonly biased: boolean
  readonly globalMean: number
  readonly minRating: number
  readonly maxRating: number
  /** What its rows were like when they were published, where the publisher said it. */
  readonly published?: EncodedMoments | undefined
  /** How far the version had learned when it went live, where the registry says it. */
  readonly places?: readonly LearningPlace[] | undefined
}

/** Moments as they travel and are kept. */
export interface EncodedMoments {
  readonly user: Float64Array
  readonly item: Float64Array
}

/** A version that is learned on: its rule and its constants, the same in every slot. */
export class LearnedVersion {
  readonly facts: VersionFacts
  readonly moments: EncodedMoments
  readonly rule: OnlineRule
  readonly error: PrequentialError
  readonly range: RatingRange
  /** Where unseen users and items start. */
  readonly coldUser: Float32Array
  readonly coldItem: Float32Array

  constructor(
    facts: VersionFacts,
    moments: EncodedMoments,
    dimension: number,
    rule: OnlineRuleOptions,
    prequential: PrequentialOptions,
  ) {
    this.facts = facts
    this.moments = moments
    const decoded: ModelMoments = {
      user: RowMoments.decode(moments.user),
      item: RowMoments.decode(moments.item),
    }
    const { biased, globalMean } = facts
    const options = rule.rule === 'sgd' ? { ...rule, globalMean } : rule
    this.rule = onlineRule({ dimension, biased }, options, () => decoded)
    this.error = new PrequentialError(prequential)
    this.range = { min: facts.minRating, max: facts.maxRating }
    this.coldUser = coldRow(decoded.user, biased ? dimension - 1 : -1)
    this.coldItem = coldRow(decoded.item, biased ? dimension - 2 : -1)
  }
}

/** The mean row; its constant column is exactly 1. */
function coldRow(moments: RowMoments, constant: number): Float32Array {
  const row = Float32Array.from(moments.mean())
  if (constant >= 0) row[constant] = 1
  return row
}

const FORMAT = 1

/**
 * A version's constants as operator state: format u8 | length of the JSON u32 | JSON of the facts and
 * the counts of numbers | float64 of the user moments | of the item moments.
 */
export function encodeVersion(facts: VersionFacts, moments: EncodedMoments): Uint8Array {
  const { user, item } = moments
  const { published: _, places: __, ...told } = facts
  const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)
  const json = Buffer.from(
    JSON.stringify({
      ...told,
      minRating: finite(facts.minRating),
      maxRating: finite(facts.maxRating),
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
  readonly facts: VersionFacts
  readonly moments: EncodedMoments
} {
  const buffer = Buffer.from(bytes)
  if (buffer[0] !== FORMAT) {
    throw new WeirError('UNSUPPORTED_VERSION', `a learned version of format ${buffer[0]}`)
  }
  const end = 5 + buffer.readUInt32LE(1)
  const json = JSON.parse(buffer.toString('utf8', 5, end)) as Record<string, number | null> & {
    biased: unknown
  }
  const split = end + 8 * (json['user'] ?? 0)
  return {
    facts: {
      version: json['version'] ?? 0,
      biased: json.biased === true,
      globalMean: json['globalMean'] ?? 0,
      minRating: json['minRating'] ?? Number.NEGATIVE_INFINITY,
      maxRating: json['maxRating'] ?? Number.POSITIVE_INFINITY,
    },
    moments: {
      user: numbersOf(buffer.subarray(end, split)),
      item: numbersOf(buffer.subarray(split)),
    },
  }
}

function bytesOf(numbers: Float64Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
}

function numbersOf(bytes: Uint8Array): Float64Array {
  return new Float64Array(Uint8Array.from(bytes).buffer)
}

/** What a learner is told of a version that its marker describes. */
export function versionFacts(version: number, marker: ModelVersionMarker): VersionFacts {
  const { biased, globalMean, minRating, maxRating } = marker
  return {
    version,
    biased,
    globalMean,
    minRating: minRating ?? Number.NEGATIVE_INFINITY,
    maxRating: maxRating ?? Number.POSITIVE_INFINITY,
    published: publishedMoments(marker),
  }
}

/** An error's sums as operator state: | version f64 | float64 ... | */
export function errorBytes(version: number, numbers: Float64Array): Uint8Array {
  return new Uint8Array(Float64Array.of(version, ...numbers).buffer)
}

/** Reads `errorBytes`. */
export function errorOf(bytes: Uint8Array): { version: number; numbers: Float64Array } {
  const numbers = new Float64Array(Uint8Array.from(bytes).buffer)
  return { version: numbers[0]!, numbers: numbers.subarray(1) }
}
