import type { SeenOffset } from '../delta-deduplicator.ts'

/** One state with rows of a model that learns. */
export interface LearnedState {
  readonly state: string
  /** State with the ratings that each row was trained on, where they are kept. */
  readonly evidence?: string
  /** State with what is kept beside each row, which is written back with it. */
  readonly memory?: string
}

/** What write-backs must know of a kind of model and its job. */
export interface LearnedModel {
  /** Uid of the operator that owns the rows. */
  readonly owner: string
  readonly states: readonly LearnedState[]
  /** Uid of the operator that reads observations. */
  readonly observationsGate: string
  /** Uid of the operator that reads deltas. */
  readonly deltasGate: string
  /** Name of its state of the deltas seen. */
  readonly seenState: string
  /** Reads an entry of the state of the deltas seen. */
  decodeSeen(entry: Uint8Array): Iterable<SeenOffset>
  /** The key in the model topic, without version, of a key in state. */
  topicKey(key: string): string
}
