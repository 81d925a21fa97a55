import type {
  ReplayedObservations,
  TrainedModelMetadata,
  TrainingData,
  WrittenRows,
} from '../../kinds/port/trainer.ts'
import type { Training } from '../../kinds/registered.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'

/** A request to the training process; each has one answer. */
export type TrainerRequest =
  /** Trains on the ranges. */
  | ({ readonly kind: 'train' } & TrainingData & Training)
  /** Learns the observations of the ranges online; only for kinds whose candidates learn before they go live. */
  | { readonly kind: 'replay'; readonly ranges: readonly DataRange[] }
  /** Writes all current rows into a model file. */
  | { readonly kind: 'write'; readonly file: string }

/** An answer of the training process, or its progress before the answer. */
export type TrainerAnswer =
  | { readonly kind: 'progress'; readonly done: number; readonly total: number }
  | { readonly kind: 'trained'; readonly metadata: TrainedModelMetadata }
  | ({ readonly kind: 'replayed' } & ReplayedObservations)
  | ({ readonly kind: 'written' } & WrittenRows)
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
