import { requireArgument } from '../../core/errors.ts'
import { RETAINED_CHECKPOINTS } from '../rows/layout.ts'

/**
 * The checkpoints of one vector state. An epoch has the number of the last barrier: a row written after
 * barrier 7 and before the next one has write epoch 7 (0 before the first barrier). So a version of a row
 * with write epoch w belongs to checkpoint C if w < C and the next version of the row has a write
 * epoch >= C.
 *
 * Which checkpoints can still be read:
 * - the last completed one (or the restored one), until a later one completes;
 * - barriers after it that may complete yet. An aborted checkpoint is never reported, so only the
 *   last two barriers are kept: with one checkpoint in flight, a notice of completion can be
 *   overtaken by the next barrier, but not by the one after it. An older pending one counts as
 *   aborted; if its notice does arrive, it is ignored.
 */
export class VectorEpochs {
  /** The last barrier, 0 before the first: the write epoch of rows written now. */
  current = 0
  /** The last completed or restored checkpoint, 0 if none. */
  completed = 0
  private pending: number[] = []

  /** Checkpoints that can be read, ascending: at most three, the current one last. */
  get retained(): readonly number[] {
    return this.completed === 0 ? this.pending : [this.completed, ...this.pending]
  }

  /** A barrier passed. Throws INVALID_ARGUMENT unless ids grow. */
  barrier(checkpointId: number): void {
    requireArgument(
      Number.isInteger(checkpointId) && checkpointId > this.current && checkpointId < 2 ** 31,
      `checkpoint ids grow: after ${this.current} came ${checkpointId}`,
    )
    this.current = checkpointId
    this.pending = [...this.pending, checkpointId].slice(1 - RETAINED_CHECKPOINTS)
  }

  /** A checkpoint completed; false when it is not (or no longer) a pending one. */
  complete(checkpointId: number): boolean {
    if (!this.pending.includes(checkpointId)) return false
    this.completed = checkpointId
    this.pending = this.pending.filter((id) => id > checkpointId)
    return true
  }

  /** The rows are now those of a restored checkpoint. */
  restored(checkpointId: number): void {
    this.current = checkpointId
    this.completed = checkpointId
    this.pending = []
  }

  /** Whether a version written in epoch `from`, replaced in epoch `through`, can still be read. */
  isReadable(from: number, through: number): boolean {
    if (this.completed > from && this.completed <= through) return true
    for (const id of this.pending) if (id > from && id <= through) return true
    return false
  }
}
