import { beginAnswer, type FrameEnvelope } from '../../wire/answer.ts'
import { ANSWER, ANSWER_FLAG, REQUEST_FLAG } from '../../wire/frame.ts'
import type { FrameWriter } from '../../wire/frame-writer.ts'
import type { RequestCursor } from '../../wire/request.ts'
import type { ReadGroup } from '../port/query-backend.ts'

/** The envelope of a frame that a read group answers; the instance is reused for every frame. */
export class GroupEnvelope implements FrameEnvelope {
  modelVersion = 0
  routingEpoch = 0
  checkpointId = 0
  ageMs = -1

  /** Begins the answer to a frame of this kind. Returns whether each of its items has an envelope, too. */
  begin(
    writer: FrameWriter,
    cursor: RequestCursor,
    kind: number,
    group: ReadGroup,
    routingEpoch: number,
  ): boolean {
    this.modelVersion = group.modelVersion
    this.routingEpoch = routingEpoch
    this.checkpointId = group.checkpointId
    this.ageMs = group.ageMs
    const withEnvelopes = (cursor.flags & REQUEST_FLAG.envelope) !== 0
    const flags = withEnvelopes ? ANSWER_FLAG.envelope : 0
    beginAnswer(writer, kind + ANSWER, flags, cursor.requestId, this)
    return withEnvelopes
  }
}
