import type { WeirError } from '../core/errors.ts'
import { HIGHEST_VERSION } from '../core/model-version.ts'
import {
  kindOf,
  listOf,
  milliseconds,
  name,
  numberIn,
  type OptionKind,
  recordOf,
  required,
  text,
  wholeNumber,
} from '../core/options/kinds.ts'
import { checkArgument, nested, type OptionShape, variants } from '../core/options/shape.ts'

/** How fresh or how consistent an answer must be. */
export type Consistency =
  /** The value that the owner has now. */
  | { readonly level: 'live' }
  /** The last completed checkpoint: one consistent cut over all keys. */
  | { readonly level: 'checkpoint' }
  /** The answer includes the effects of the record at this source position (read your writes). */
  | ({ readonly level: 'at-least' } & ReadPosition)
  /** The owner has applied all that the source held this long ago. */
  | { readonly level: 'bounded'; readonly maxAgeMs: number }

/** A position of a source of the job. */
export interface ReadPosition {
  /** Number of the source: the sources are listed in the routing table. @default 0 */
  readonly source?: number
  readonly partition: number
  readonly offset: number
}

const READ_POSITION: OptionShape<ReadPosition> = {
  source: wholeNumber({ min: 0 }),
  partition: required(wholeNumber({ min: -1 })),
  offset: required(wholeNumber({ min: -1 })),
}
/** An envelope is a position, too. */
const POSITION = kindOf<ReadPosition>(
  'a position, with partition and offset, such as the envelope of an answer',
  (given) => {
    const { source, partition, offset } = (given ?? {}) as Partial<ReadPosition>
    return [source ?? 0, partition, offset].every((one) => Number.isSafeInteger(one))
  },
)

/** The consistency of a read that includes what is at a position, for example that of another answer. */
export function atLeast(position: ReadPosition): Consistency {
  checkArgument('atLeast', 'position', POSITION, position)
  const { source = 0, partition, offset } = position
  return { level: 'at-least', source, partition, offset }
}

/** The kind of consistencies. */
const CONSISTENCY: OptionKind<Consistency> = variants<Consistency, 'level'>('level', {
  live: {},
  checkpoint: {},
  'at-least': READ_POSITION,
  bounded: { maxAgeMs: required(milliseconds) },
})

/** Envelope of an answer: which state it is from. */
export interface AnswerEnvelope {
  /** Model version that answered; 0 for state without versions. */
  readonly modelVersion: number
  /** Source position of the last write to the row or value; partition -1 if none. */
  readonly partition: number
  readonly offset: number
  /** Number of the source of the position. @default 0 */
  readonly source?: number
  /** Last completed checkpoint. */
  readonly checkpointId: number
  /** Upper bound of the answer's age in ms; -1 when unknown. */
  readonly ageMs: number
  /** `<query server>/<slot>`. */
  readonly servedBy: string
}

/** One answer: a value with its envelope, or a typed error. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T; readonly envelope: AnswerEnvelope }
  | { readonly ok: false; readonly error: WeirError }

/** Options of every request. */
export interface QueryOptions {
  /** @default { level: 'live' } */
  readonly consistency?: Consistency
  /** Model version to read. @default the live one */
  readonly version?: number
  /** Milliseconds until DEADLINE_EXCEEDED. @default 5000 */
  readonly deadlineMs?: number
}

/** The options of every request. */
export const QUERY: OptionShape<QueryOptions> = {
  consistency: CONSISTENCY,
  version: wholeNumber({ min: 0, max: HIGHEST_VERSION }),
  deadlineMs: numberIn({ above: 0, orInfinity: true }),
}

/** A prediction: the inner product of two rows. */
export interface Prediction {
  readonly score: number
  /** The left row did not exist and its mean row stood in. */
  readonly leftCold: boolean
  readonly rightCold: boolean
}

/** Options of a prediction. */
export interface PredictOptions extends QueryOptions {
  /** Keys of the rows that stand in for a missing left or right one; UNKNOWN_KEY when not given. */
  readonly coldLeft?: string
  readonly coldRight?: string
}

/** The options of a prediction. */
export const PREDICT: OptionShape<PredictOptions> = { ...QUERY, coldLeft: text, coldRight: text }

/** One result of a top-k query. */
export interface ScoredKey {
  readonly key: string
  readonly score: number
}

/** Rules over the tags of rows. A row without tags has none of any. Tags are those of now, at every level of consistency. */
export interface TagRules {
  /** Only rows with at least one of these tags, at most 64. @default all rows */
  readonly anyOf?: readonly string[]
  /** Only rows with none of these tags, at most 64. */
  readonly noneOf?: readonly string[]
  /**
   * Factors of up to eight tags, each from 0.01 to 100: `{ NEW: 1.2 }`. A row has the product of those of its tags. It
   * multiplies a score of 0 or more and divides a lower one, so that a factor above 1 always brings a row further up.
   */
  readonly boost?: Readonly<Record<string, number>>
}

/** Most tags with a boost. */
export const MAX_BOOSTS = 8
/** Smallest and largest factor of a boost. */
export const BOOST_FACTORS = { min: 0.01, max: 100 } as const

/** Options of a top-k query. */
export interface TopKOptions extends QueryOptions {
  /** Results wanted, 1 <= k <= 1000. */
  readonly k: number
  /** Only rows whose keys end in this (`-I`). @default '' */
  readonly suffix?: string
  /** Keys never returned. */
  readonly exclude?: readonly string[]
  /** The only keys that may be returned, at most 10,000: they are read one by one. @default all */
  readonly among?: readonly string[]
  /** Rules over the tags of rows (`weir run als-serving --tags`). @default none */
  readonly where?: TagRules
  /** Row that stands in for a missing query row. */
  readonly cold?: string
  /**
   * Divides each score by the Euclidean norm of the first so many floats of its row: cosines, if the query has
   * norm 1. A row with norm 0 has score 0. 1 <= normColumns <= dimension. @default scores are not divided
   */
  readonly normColumns?: number
}

/** Most results of one top-k query. */
export const MAX_K = 1000
/** Most keys that a top-k query is among. */
export const MAX_AMONG = 10_000

/** The options of a top-k query. */
export const TOP_K: OptionShape<TopKOptions> = {
  ...QUERY,
  k: required(wholeNumber({ min: 1, max: MAX_K })),
  suffix: text,
  exclude: listOf(text),
  among: listOf(text),
  where: nested<TagRules>({
    anyOf: listOf(name),
    noneOf: listOf(name),
    boost: recordOf(numberIn(BOOST_FACTORS)),
  }),
  cold: text,
  normColumns: wholeNumber({ min: 0 }),
}

/**
 * A sparse vector: feature ids and their values. Queries take the ids in any order and add up the values of an
 * id that comes again, as readers of examples do; in answers and in files they rise strictly.
 */
export interface SparseVector {
  readonly ids: Uint32Array
  readonly values: Float32Array
}

/** A sparse product: the sum over the features that have a weight. */
export interface SparseProduct {
  readonly sum: number
  /** Features without a weight. */
  readonly unknown: number
}

/** One entry of a scan. */
export interface ScanEntry {
  /** A text; of a key of another type U+10FFFF and its JSON, see `keyOfText`. */
  readonly key: string
  /** Row floats for vector state (as bytes, little-endian), the encoded value otherwise. */
  readonly value: Uint8Array
}

/**
 * Reads queryable state: over the wire (client library) or in place (query threads). One contract suite
 * tests both. A promise rejects only when the whole call fails; failures of single keys are answers.
 */
export interface ModelReader {
  /** Rows of vector state, in the order of the keys. */
  rows(
    state: string,
    keys: readonly string[],
    options?: QueryOptions,
  ): Promise<Answer<Float32Array>[]>
  /** Encoded values of typed state, in the order of the keys. */
  values(
    state: string,
    keys: readonly string[],
    options?: QueryOptions,
  ): Promise<Answer<Uint8Array>[]>
  /** Entries with `from <= key < to` in key-byte order. */
  scan(
    state: string,
    range: { readonly from: string; readonly to: string; readonly limit: number },
    options?: QueryOptions,
  ): Promise<ScanEntry[]>
  /** Inner product of two rows. Rejects with the answer's error. */
  predict(state: string, left: string, right: string, options?: PredictOptions): Promise<Prediction>
  /** As `predict`, with the envelope. */
  predictWithEnvelope(
    state: string,
    left: string,
    right: string,
    options?: PredictOptions,
  ): Promise<Answer<Prediction>>
  /**
   * Sum of value x weight over the features, where weight rows are blocks: feature `f` is element
   * `f mod dimension` of the row with key `String(floor(f / dimension))`.
   */
  sparseDot(
    state: string,
    features: SparseVector,
    options?: QueryOptions,
  ): Promise<Answer<SparseProduct>>
  /** The k rows with the largest inner product with a row (by key) or a vector, exact, descending. */
  topK(
    state: string,
    query: string | Float32Array,
    options: TopKOptions,
  ): Promise<Answer<ScoredKey[]>>
}
