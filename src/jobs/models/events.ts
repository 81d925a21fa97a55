import type { WeirError } from '../../core/errors.ts'
import type { LastCheckpoint } from '../last-checkpoint.ts'

/** Change of the served models, for logs. */
export type ModelEvent =
  | {
      readonly event: 'loaded'
      readonly model: string
      readonly version: number
      readonly ms: number
    }
  | { readonly event: 'live'; readonly model: string; readonly version: number }
  | { readonly event: 'unloaded'; readonly model: string; readonly version: number }
  | {
      readonly event: 'failed'
      readonly model: string
      readonly version: number
      readonly error: WeirError
    }
  /** A file of the model is wrong: its settings, aliases, revisions, or the newest version. */
  | { readonly event: 'problem'; readonly model: string; readonly error: WeirError }
  /** The server behind remote models does not answer, or answers again. */
  | { readonly event: 'remote'; readonly error: WeirError }
  | { readonly event: 'repository'; readonly error: WeirError }
  /** Decisions of pipelines cannot be written to their topic: they are lost, and answers go on. */
  | { readonly event: 'decisions'; readonly topic: string; readonly error: WeirError }

/** Change of the checkpoints of sequences, for logs. */
export type SequenceEvent =
  /** What models carry for sequences is kept in checkpoints. */
  | {
      readonly event: 'sequences'
      readonly directory: string
      readonly intervalMs: number
      /** What the process before has left. @default nothing */
      readonly restored?: {
        readonly checkpointId: number
        readonly triggeredAtMs: number
        readonly sequences: number
        /** Those of which no later answer can be lost. */
        readonly whole: number
      }
    }
  /** A checkpoint of sequences failed, or could not be restored. */
  | { readonly event: 'sequences-problem'; readonly error: WeirError }
  /** No checkpoint of sequences can be read, so nothing is restored and none is taken. */
  | { readonly event: 'sequences-off'; readonly error: WeirError }
  /** The process ends. */
  | { readonly event: 'last-checkpoint'; readonly last: LastCheckpoint }
