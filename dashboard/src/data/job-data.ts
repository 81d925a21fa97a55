/* Answers of the REST interface about the state, the models and the topics of a job; docs/reference/rest.md. */

/** `/weir/jobs/:id/states` */
export interface States {
  readonly states: readonly StateInfo[]
}

/** A queryable state. */
export interface StateInfo {
  readonly name: string
  readonly kind: string
  /** Floats of a row, 0 for typed state. */
  readonly dimension: number
  readonly versions: readonly number[]
  readonly liveVersion: number
}

/** From where and when an answer is. */
export interface Envelope {
  readonly modelVersion: number
  readonly source?: number
  /** -1: no record wrote it. */
  readonly partition: number
  readonly offset: number
  readonly checkpointId: number
  /** -1: unknown. */
  readonly ageMs: number
  readonly servedBy: string
}

/** `/weir/jobs/:id/states/:name/entry` */
export interface StateEntry {
  readonly key: string
  readonly value: unknown
  readonly envelope: Envelope
  readonly slot: number | null
}

/** `/weir/jobs/:id/states/:name/rows` */
export interface StateRows {
  readonly rows: readonly { readonly key: string; readonly value: unknown }[]
  readonly next: string | null
}

/** `/weir/jobs/:id/models` */
export interface Models {
  readonly model: string
  readonly state: string
  readonly live: number
  readonly serving: number
  readonly rollback: number
  readonly versions: readonly ModelVersion[]
}

/** A version of a model; fields of the registry are missing where only the job knows it. */
export interface ModelVersion {
  readonly number: number
  readonly id?: string | null
  readonly processingName?: string | null
  readonly createdMs?: number
  readonly state: string
  readonly isLoaded: boolean
  readonly isServing: boolean
  readonly dimension?: number
  readonly users?: number
  readonly items?: number
  readonly errorAtStart?: number | null
  readonly lineage?: Lineage | null
  readonly checks?: readonly Check[]
  readonly notes?: readonly VersionNote[]
}

/** What a version was made from. */
export interface Lineage {
  readonly ranges?: readonly {
    readonly topic: string
    readonly partition: number
    readonly from: number
    readonly to: number
  }[]
  readonly files?: readonly { readonly file: string; readonly sha256: string }[]
  readonly checkpoint?: string
  readonly parent?: string
  readonly code?: string
  readonly hyperparameters?: Readonly<Record<string, unknown>>
  readonly metrics?: Readonly<Record<string, number>>
  readonly newestEventMs?: number
}

/** The last run of a check. */
export interface Check {
  readonly check: string
  readonly passed: boolean
  readonly against: number
  readonly measures: readonly {
    readonly name: string
    readonly value: number
    readonly relation: string
    readonly bound: number
    readonly passed: boolean
  }[]
}

/** Something that happened to a version. */
export interface VersionNote {
  readonly atMs: number
  readonly event: string
  readonly text?: string
}

/** `/weir/jobs/:id/served-models` */
export interface ServedModels {
  readonly models: readonly ServedModel[]
}

/** A model of any kind that a job asks. */
export interface ServedModel {
  readonly name: string
  readonly kind: string
  readonly state: string
  readonly reason: string
  /** What is wrong with its files, one sentence each. */
  readonly problems: readonly string[]
  /** 0 while no version is live. */
  readonly liveVersion: number
  readonly versions: readonly {
    readonly version: number
    readonly state: string
    readonly reason: string
  }[]
  /** Null while no version is live. */
  readonly settings: {
    readonly rule: string
    readonly sloMs: number
    readonly maxBatchItems: number
    readonly workers: number
    readonly cacheBytes: number
  } | null
  /** Counters and times by name, since the live version was loaded. */
  readonly statistics: Readonly<Record<string, number>>
}

/** `/weir/jobs/:id/models/diff` */
export interface ModelDifference {
  readonly differences: readonly {
    readonly field: string
    readonly left: string
    readonly right: string
  }[]
  readonly lists: {
    readonly users: number
    readonly k: number
    readonly overlap: number
    readonly rise: number
    readonly risenItem?: string | null
    readonly fall: number
    readonly fallenItem?: string | null
  } | null
}

/** Answer to a promotion and a rollback. */
export interface ModelSwitch {
  readonly live: number
  readonly before: number
  readonly how: string
}

/** `/weir/jobs/:id/recommendations` */
export interface Recommendations {
  readonly user: string
  readonly isUserKnown: boolean
  readonly modelVersion: number
  readonly items: readonly {
    readonly item: string
    readonly score: number
    readonly title?: string
  }[]
  readonly envelope: Envelope
}

/** `/weir/jobs/:id/topics` */
export interface Topics {
  readonly sources: readonly SourceTopic[]
}

/** A source that reads a topic. */
export interface SourceTopic {
  readonly uid: string
  readonly name: string
  readonly topic: string | null
  readonly lag: number | null
  readonly partitions: readonly TopicPartition[]
}

/** A partition: offsets from `start` to before `end` exist. */
export interface TopicPartition {
  readonly partition: number
  readonly start: number
  readonly end: number
  readonly position: number | null
  readonly lag: number | null
}
