import type { ModelId } from './model.ts'
import type { Tensor } from './tensor.ts'

/** Who asks, for example a connection: when it is gone, its requests are given up. */
export interface Asker {
  /** Why it is gone, as `InferenceProducer.infer` rejects; undefined while it is there. */
  readonly gone: unknown
  /** Whose share of answers in parts it takes. @default it has none */
  readonly client?: string | undefined
  /** What it is counted with where a queue is full: its connection. @default it is counted by itself */
  readonly group?: object
  /** Calls `listener` once when it is gone, unless the returned function was called before. */
  onGone(listener: () => void): () => void
}

/** Request of one prediction. The caller has resolved an alias to a version. */
export interface InferRequest {
  readonly model: ModelId
  /** Every input of the signature. The bytes are copied before `infer` returns. */
  readonly inputs: readonly Tensor[]
  /** Time until the answer, ms from the call. @default the deployment's `sloMs` */
  readonly deadlineMs?: number
  /** Boost in ms: the queue treats the request as if its deadline were so much earlier. @default 0 */
  readonly priority?: number
  /** Gives up the request: its place in the queue is free at once, and `infer` rejects with the reason. */
  readonly signal?: AbortSignal | undefined
  /** Whose request it is, for a pipeline that learns by context: a user, a tenant. @default all have one */
  readonly context?: string | undefined
  /** As `signal`, for all requests of a connection: a signal for each costs more than the way to the queue. */
  readonly asker?: Asker | undefined
}

/** Request for an answer in parts. */
export interface PartsRequest extends Pick<InferRequest, 'model' | 'inputs' | 'asker'> {
  /** Time until the last part, ms. @default the deployment's `sloMs` for each part */
  readonly deadlineMs?: number | undefined
}

/** Facts about an answer that a client shows or counts. */
export interface AnswerFlags {
  /** The outputs are the deployment's default; `reason` says why. */
  readonly isDefault?: 'shed' | 'expired' | 'full' | 'failed' | 'unsure'
  /** The outputs are from the prediction cache. */
  readonly isCached?: boolean
  /** A second worker ran the request, too. */
  readonly isHedged?: boolean
  /** Earlier attempts whose worker was lost. */
  readonly lostAttempts?: number
  /** Of a request of a sequence: the step of this answer, as `stepText`. */
  readonly sequenceStep?: string
  /** Of a pipeline: what it decided. */
  readonly decision?: AnswerDecision
}

/** What a pipeline decided for one request. */
export interface AnswerDecision {
  /** Id that a reward names. */
  readonly id: string
  /** The arm that answered, and its probability when it was chosen; absent where no arm answered alone. */
  readonly arm?: string
  readonly probability?: number
  /** Trust in the answer, 0 to 1; absent where its scores are no probabilities. */
  readonly confidence?: number
  /** Version of each model of the pipeline at this request, by its reference. */
  readonly versions: Readonly<Record<string, number>>
}

/** A reward for a decision. */
export interface DecisionReward {
  /** Id of the decision. */
  readonly decision: string
  /** How good the answer was, in the range that the pipeline declares. */
  readonly reward: number
  /** The true class, from 0, by which each arm is judged by itself. */
  readonly label?: number | undefined
}

/** What became of a reward: each decision takes one, within its time. */
export type RewardOutcome = 'counted' | 'duplicate' | 'late' | 'unmatched'

/** Answer of one request. */
export interface InferAnswer {
  readonly outputs: readonly Tensor[]
  /** Version that answered. */
  readonly version: number
  /** Time between the call and the start of the run, ms. */
  readonly queueMs: number
  /** Time of the run of the whole batch, ms. */
  readonly runMs: number
  /** Items of that batch. */
  readonly batchItems: number
  readonly flags: AnswerFlags
}
