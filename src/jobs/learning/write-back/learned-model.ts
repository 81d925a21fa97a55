import type { SeenOffset } from '../delta-deduplicator.ts'

/** One state with rows of a model that learns. */
export interface LearnedState {
  readonly state: string
  /** State with the ratings that each row was trained on, where they are kept. */
  readonly evidence?: string
}

/** What write-backs must know of a kind of model and its job. */
export interface LearnedModel {
  /** Uid of the operator that owns the rows. */
  readonly owner: string
  readonly states: readonly LearnedState[]
  /** Uid of the operator that reads observations, and its place in the order of the sources. */
  readonly observations: { readonly gate: string; readonly source: number }
  /** Uid of the operator that reads deltas, its place, and its state of the deltas seen. */
  readonly deltas: { readonly gate: string; readonly source: number; readonly state: string }
  /** Reads an entry of the state of the deltas seen. */
  decodeSeen(entry: Uint8Array): Iterable<SeenOffset>
  /** The key in the model topic, without version, of a key in state. */
  topicKey(key: string): string
}
