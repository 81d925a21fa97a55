import { FrameWriter } from '../../wire/frame-writer.ts'
import type { RequestCursor } from '../../wire/request.ts'
import type { KeySpan, ReadGroup } from '../port/query-backend.ts'

/** Most predictions of a frame that are answered in one go: about half a millisecond. */
export const PREDICTIONS_PER_SLICE = 512
/** After so many restarts a frame is answered in one go, so that it ends. */
const MAX_RESTARTS = 2

/**
 * The answer to a large PREDICT frame, which is written in slices: other connections have their turns in
 * between. One envelope holds for all predictions, so what it says must not change meanwhile.
 */
export class SlicedPredictions {
  /** The answer so far: other answers of the connection are sent before it is complete. */
  readonly writer = new FrameWriter()
  /** Predictions that are answered. */
  answered = 0
  /** Positions and lengths of the keys of deferred predictions. */
  readonly deferred: number[] = []
  coldLeft: KeySpan | undefined
  coldRight: KeySpan | undefined
  /** Position of the frame's body. */
  readonly bodyAt: number
  private readonly monotonicMs: () => number
  private modelVersion = 0
  private checkpointId = 0
  private ageMs = -1
  private startedAt = 0
  private starts = 0

  constructor(cursor: RequestCursor, monotonicMs: () => number) {
    this.bodyAt = cursor.at
    this.monotonicMs = monotonicMs
  }

  /** Begins with what this group reads. */
  start(group: ReadGroup): void {
    this.writer.length = 0
    this.answered = 0
    this.deferred.length = 0
    this.modelVersion = group.modelVersion
    this.checkpointId = group.checkpointId
    this.ageMs = group.ageMs
    this.startedAt = this.monotonicMs()
    this.starts += 1
  }

  /**
   * Whether the envelope holds for what this group reads: the version, the checkpoint if one is read, and
   * an age that has grown by the time since then at most. A slot that restores goes back.
   */
  continues(group: ReadGroup, level: string): boolean {
    if (group.modelVersion !== this.modelVersion) return false
    if (level === 'checkpoint' && group.checkpointId !== this.checkpointId) return false
    if (this.ageMs < 0) return true
    const oldest = this.ageMs + (this.monotonicMs() - this.startedAt) + 1
    return group.ageMs >= 0 && group.ageMs <= oldest
  }

  /** Predictions of the next slice. */
  nextOf(count: number): number {
    const left = count - this.answered
    return this.starts > MAX_RESTARTS ? left : Math.min(left, PREDICTIONS_PER_SLICE)
  }
}
