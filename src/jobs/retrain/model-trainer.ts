import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import type { TrainerAnswer } from './messages.ts'

/** A trained model in a training process. */
export interface ModelTrainer {
  /** Learns later observations online. */
  replay(ranges: readonly DataRange[]): Promise<TrainerAnswer>
  /** Writes all current rows into a model file. */
  write(file: string): Promise<TrainerAnswer>
}
