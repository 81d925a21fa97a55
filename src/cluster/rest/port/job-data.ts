import type { ListFacts } from '../../../models/registry/checks/quality.ts'
import type { VersionDifference } from '../../../models/registry/diff.ts'
import type { RegisteredVersion } from '../../../models/registry/version.ts'
import type { ModelInfo, VersionState } from '../../../wire/inference/models.ts'
import type { AnswerEnvelope, Consistency } from '../../../wire/model-reader.ts'
import type { QueryableStateInfo } from '../../../wire/routing-table.ts'

/*
 * State, models and topics of a job as the REST interface shows them. Requests and answers are plain data,
 * because they cross process boundaries. The answers are the JSON of the routes.
 */

/** Reads state, models and topics of a job, and switches its model. Methods throw WeirError. */
export interface JobData {
  /** The queryable states. */
  states(request: Record<never, never>): Promise<StatesView>
  /** The row or value of one key. Throws UNKNOWN_STATE, UNKNOWN_KEY, UNKNOWN_VERSION. */
  entry(request: EntryRequest): Promise<EntryView>
  /** Rows after a key, in the order of the keys' bytes. Throws as `entry`. */
  rows(request: RowsRequest): Promise<RowsView>
  /** The versions of the job's model. Throws UNSUPPORTED for a job without a model. */
  models(request: Record<never, never>): Promise<ModelsView>
  /** The differences of two versions. Throws as `models`, and UNKNOWN_VERSION. */
  difference(request: DifferenceRequest): Promise<DifferenceView>
  /** Makes a version live. Throws as `difference`, and PROMOTION_REFUSED, REGISTRY_CONFLICT. */
  promote(request: PromotionRequest): Promise<SwitchView>
  /** Makes the previous live version live again. Throws as `promote`. */
  rollBack(request: RollbackRequest): Promise<SwitchView>
  /** The items with the highest predictions for a user. Throws UNSUPPORTED without an ALS model. */
  recommendations(request: RecommendationsRequest): Promise<RecommendationsView>
  /** The models of any kind that the job asks, from the repository that it was started with. */
  servedModels(request: Record<never, never>): Promise<ServedModelsView>
  /** The topics of the job's sources, and how far the job has applied them. */
  topics(request: Record<never, never>): Promise<TopicsView>
}

/** The queryable states of a job. */
export interface StatesView {
  readonly states: readonly QueryableStateInfo[]
}

/** A key of a state. */
export interface EntryRequest {
  readonly state: string
  readonly key: string
  /** @default the live version */
  readonly version?: number
  readonly consistency?: Consistency
}

/** The row or value of a key. */
export interface EntryView {
  readonly key: string
  /** Floats of a row, or the value as JSON. */
  readonly value: unknown
  readonly envelope: AnswerEnvelope
  /** Slot that owns the key. */
  readonly slot: number | null
}

/** A page of a state's keys. */
export interface RowsRequest {
  readonly state: string
  /** The page begins after this key; empty: at the first key. */
  readonly after: string
  readonly limit: number
  readonly version?: number
}

/** A page of rows or values. */
export interface RowsView {
  readonly rows: readonly { readonly key: string; readonly value: unknown }[]
  /** The `after` of the next page; null when there is none. */
  readonly next: string | null
}

/** The model of a job and its versions. */
export interface ModelsView {
  /** Name in the registry, and of the topic. */
  readonly model: string
  /** Queryable state. */
  readonly state: string
  /** Live version of the registry, 0 for none. */
  readonly live: number
  /** Version that queries read now, 0 for none. */
  readonly serving: number
  /** Version that a rollback makes live, 0 for none. */
  readonly rollback: number
  /** Grows with every switch. */
  readonly revision: number
  /** Newest first. */
  readonly versions: readonly VersionView[]
}

/** A version. Fields of the registry are missing where only the job knows the version. */
export interface VersionView
  extends Partial<Omit<RegisteredVersion, 'number' | 'state' | 'golden'>> {
  readonly number: number
  /**
   * `unregistered`: the job serves it, but the registry does not have it. `publishing`, `incomplete`: it is not whole,
   * because its publisher writes it, or has ended.
   */
  readonly state: RegisteredVersion['state'] | 'unregistered' | 'publishing' | 'incomplete'
  /** Whether the job has rows of it. */
  readonly isLoaded: boolean
  /** Whether queries without a version read it. */
  readonly isServing: boolean
}

/** Two versions: numbers, ids, processing names, `live` or `latest`. */
export interface DifferenceRequest {
  readonly a: string
  readonly b: string
}

/** The differences of two versions. */
export interface DifferenceView {
  readonly a: number
  readonly b: number
  readonly differences: readonly VersionDifference[]
  /** Top lists of sampled users in both; null unless both are loaded and of an ALS model. */
  readonly lists: (ListFacts & { readonly k: number }) | null
}

/** A version to make live. */
export interface PromotionRequest {
  /** As in `DifferenceRequest`. */
  readonly version: string
  /** Version that the caller expects to be live. @default the one that is live */
  readonly expectLive?: number
  /** Reason for ignoring the checks. */
  readonly force?: string
}

/** A rollback. */
export interface RollbackRequest {
  readonly expectLive?: number
  /** @default 'by hand' */
  readonly reason?: string
}

/** A switch of the live version. */
export interface SwitchView {
  readonly model: string
  readonly live: number
  /** Version that was live before, 0 for none. */
  readonly before: number
  readonly how: 'promoted' | 'forced' | 'rolled back'
}

/** A user who wants recommendations. */
export interface RecommendationsRequest {
  readonly user: string
  readonly k: number
  readonly version?: number
}

/** Recommendations, best first. */
export interface RecommendationsView {
  readonly user: string
  /** False where the mean user's row was used. */
  readonly isUserKnown: boolean
  readonly modelVersion: number
  /** `title` where the job has one of the item. */
  readonly items: readonly {
    readonly item: string
    readonly score: number
    readonly title?: string
  }[]
  readonly envelope: AnswerEnvelope
}

/** The models of any kind that a job asks. */
export interface ServedModelsView {
  /** By name; none for a job that asks no model. */
  readonly models: readonly ServedModelView[]
}

/** A model of any kind: its versions, how it is served, and its counters since the live version was loaded. */
export interface ServedModelView
  extends Pick<
    ModelInfo,
    | 'name'
    | 'kind'
    | 'liveVersion'
    | 'versions'
    | 'aliases'
    | 'revision'
    | 'problems'
    | 'statistics'
  > {
  /** State of the live version; without one, of the version that is on its way. */
  readonly state: VersionState
  /** Why it does not answer; empty while it does. */
  readonly reason: string
  /** Settings of the live version; null while none is live. */
  readonly settings: {
    /** Name of the batching rule. */
    readonly rule: string
    /** Latency goal, ms. */
    readonly sloMs: number
    readonly maxBatchItems: number
    readonly workers: number
    /** Bytes of the prediction cache; 0 for none. */
    readonly cacheBytes: number
  } | null
}

/** The sources of a job that read topics. */
export interface TopicsView {
  readonly sources: readonly SourceTopicView[]
}

/** A source that reads a topic. */
export interface SourceTopicView {
  /** Uid of its operator. */
  readonly uid: string
  readonly name: string
  readonly topic: string
  /** Sum over the partitions; null while one is unknown. */
  readonly lag: number | null
  readonly partitions: readonly TopicPartitionView[]
}

/** One partition: offsets `start <= offset < end` exist. */
export interface TopicPartitionView {
  readonly partition: number
  readonly start: number
  readonly end: number
  /** All slots have applied the records before it; null if unknown. */
  readonly position: number | null
  readonly lag: number | null
}
