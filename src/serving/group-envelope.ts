import type { FrameEnvelope } from '../wire/answer.ts'
import type { ReadGroup } from './query-backend.ts'

/** The envelope of a frame that one read group answers; one object serves every frame. */
export class GroupEnvelope implements FrameEnvelope {
  modelVersion = 0
  routingEpoch = 0
  checkpointId = 0
  ageMs = -1

  /** What the group says now; returns itself. */
  of(group: ReadGroup, routingEpoch: number): this {
    this.modelVersion = group.modelVersion
    this.routingEpoch = routingEpoch
    this.checkpointId = group.checkpointId
    this.ageMs = group.ageMs
    return this
  }
}
