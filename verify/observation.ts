/** Levels of consistency that the verifier asks for. */
export type Level = 'live' | 'checkpoint' | 'at-least' | 'bounded'

/** One answer to a query, as the history keeps it. Times are wall-clock ms of this machine. */
export interface Observation {
  /** Queryable name. */
  readonly state: string
  readonly key: string
  /** Sessions ask one thing after the other. */
  readonly session: number
  readonly level: Level
  /** Bound of an `at-least` query. */
  readonly bound?: { readonly partition: number; readonly offset: number }
  /** Bound of a `bounded` query. */
  readonly maxAgeMs?: number
  /** Records of the key that the value holds; -1 when the answer was UNKNOWN_KEY. */
  readonly version: number
  /** What else the value says, as one number. */
  readonly check: number
  /** Position of the last write, as the answer said. */
  readonly partition: number
  readonly offset: number
  readonly checkpointId: number
  readonly ageMs: number
  readonly startedMs: number
  readonly answeredMs: number
}

/** The input of one key, in its order: what every value of the key must be a prefix of. */
export interface KeyLedger {
  /** All records of a key lie in one partition. */
  readonly partition: number
  /** Offset of each record; rising. */
  readonly offsets: readonly number[]
  /** When each record was known to be stored; never falls, Infinity when it never was. */
  readonly storedMs: readonly number[]
  /** `check` of the value after so many records; undefined at 0 when the key does not exist then. */
  readonly checks: readonly (number | undefined)[]
}

/** Time in which a job was down or restored, so that live values may have gone back. */
export interface Disturbance {
  readonly fromMs: number
  /** Infinity while it lasts. */
  readonly toMs: number
}

/** The input of one queryable state. */
export interface StateLedger {
  /** Whether answers say the position of the last write; values of any type come without. */
  readonly positions: boolean
  readonly keys: ReadonlyMap<string, KeyLedger>
  readonly disturbances: readonly Disturbance[]
}

/** What was found to be wrong. */
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
    | 'lost-input'
    | 'readers-differ'
  readonly detail: string
}
