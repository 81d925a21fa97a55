/** Consistency levels of the verifier's queries. */
export type Level = 'live' | 'checkpoint' | 'at-least' | 'bounded'

/** One answer to a query in the history. Times are wall-clock ms of this machine. */
export interface Observation {
  /** Queryable name. */
  readonly state: string
  readonly key: string
  /** Number of the session, which makes one query after the other. */
  readonly session: number
  readonly level: Level
  /** Bound of an `at-least` query. */
  readonly bound?: { readonly partition: number; readonly offset: number }
  /** Bound of a `bounded` query. */
  readonly maxAgeMs?: number
  /** Number of records of the key in the value; -1 when the answer is UNKNOWN_KEY. */
  readonly version: number
  /** The rest of the value, as one number. */
  readonly check: number
  /** Position of the last write, from the answer. */
  readonly partition: number
  readonly offset: number
  readonly checkpointId: number
  readonly ageMs: number
  readonly startedMs: number
  readonly answeredMs: number
}

/** The input of one key, in order. Every value of the key must be a fold of a prefix. */
export interface KeyLedger {
  /** The partition of all records of the key. */
  readonly partition: number
  /** Offset of each record, ascending. */
  readonly offsets: readonly number[]
  /** When each record was stored at the latest; never decreases, Infinity when it is not known. */
  readonly storedMs: readonly number[]
  /** `check` of the value after each number of records; undefined at 0 when the key does not exist yet. */
  readonly checks: readonly (number | undefined)[]
}

/** Time in which a job was down or restored, so that live values can go back. */
export interface Disturbance {
  readonly fromMs: number
  /** Infinity while it lasts. */
  readonly toMs: number
}

/** The input of one queryable state. */
export interface StateLedger {
  /** Whether answers have the position of the last write; answers with values of any type do not. */
  readonly positions: boolean
  readonly keys: ReadonlyMap<string, KeyLedger>
  readonly disturbances: readonly Disturbance[]
}

/** An error that the verifier found. */
export interface Violation {
  readonly kind:
    | 'wrong-value'
    | 'wrong-position'
    | 'lost-write'
    | 'went-back'
    | 'checkpoint-went-back'
    | 'below-checkpoint'
    | 'no-single-cut'
    | 'too-old'
    | 'hangs'
    | 'unexpected-error'
    | 'wrong-row'
    | 'wrong-timers'
    | 'lost-input'
    | 'readers-differ'
    | 'not-fenced'
    | 'truncation-ignored'
    | 'wrong-copies'
  readonly detail: string
}
