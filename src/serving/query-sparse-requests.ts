import { beginAnswer, writeItemEnvelope } from '../wire/answer.ts'
import { ANSWER, ANSWER_FLAG, DEFERRED, KIND, REQUEST_FLAG } from '../wire/frame.ts'
import type { FrameWriter } from '../wire/frame-writer.ts'
import type { QueryOptions, SparseVector } from '../wire/model-reader.ts'
import type { RequestCursor } from '../wire/request.ts'
import { UnpackedVector } from '../wire/sparse-vector.ts'
import { OK } from '../wire/status.ts'
import { GroupEnvelope } from './group-envelope.ts'
import { writeSparseProducts } from './query-answers.ts'
import type { AsyncRequest } from './query-async-requests.ts'
import { type ReadGroup, SparseOutcome } from './query-backend.ts'
import type { QueryMetrics } from './query-metrics.ts'

/** Whether a SPARSE_DOT frame holds packed vectors. */
export function isPacked(cursor: RequestCursor): boolean {
  return cursor.kind === KIND.sparseDot && (cursor.flags & REQUEST_FLAG.packed) !== 0
}

/** Answers frames of packed sparse vectors from memory; allocates nothing per vector. */
export class SparseRequests {
  private readonly outcome = new SparseOutcome()
  private readonly vector = new UnpackedVector()
  private readonly metrics: QueryMetrics
  private readonly envelope = new GroupEnvelope()

  constructor(metrics: QueryMetrics) {
    this.metrics = metrics
  }

  /**
   * Answers a frame whose preamble was read. Returns the vectors that have to be asked elsewhere, in
   * order. Throws PROTOCOL_ERROR; the half-written answer is then abandoned by the caller.
   */
  answer(
    cursor: RequestCursor,
    group: ReadGroup,
    writer: FrameWriter,
    routingEpoch: number,
  ): SparseVector[] | undefined {
    const { outcome, vector } = this
    const withEnvelopes = (cursor.flags & REQUEST_FLAG.envelope) !== 0
    outcome.withPosition = withEnvelopes
    this.begin(cursor, group, writer, routingEpoch, withEnvelopes)
    let deferred: SparseVector[] | undefined
    for (let i = 0; i < cursor.count; i++) {
      vector.read(cursor)
      const status = group.sparseDot?.(vector, outcome) ?? DEFERRED
      writer.uint8(status)
      writer.uint8(0)
      if (status === OK) {
        if (withEnvelopes) writeItemEnvelope(writer, outcome)
        writer.float64(outcome.sum)
        writer.uint32(outcome.unknown)
      } else if (status === DEFERRED) {
        deferred ??= []
        deferred.push(vector.copy())
      } else this.metrics.failed(status)
    }
    cursor.finish()
    writer.end(cursor.count)
    return deferred
  }

  private begin(
    cursor: RequestCursor,
    group: ReadGroup,
    writer: FrameWriter,
    routingEpoch: number,
    withEnvelopes: boolean,
  ): void {
    const envelope = this.envelope.of(group, routingEpoch)
    const flags = withEnvelopes ? ANSWER_FLAG.envelope : 0
    beginAnswer(writer, KIND.sparseDot + ANSWER, flags, cursor.requestId, envelope)
  }
}

/** All vectors of a packed frame as a request that waits. Throws PROTOCOL_ERROR. */
export function decodePacked(cursor: RequestCursor, options: QueryOptions): AsyncRequest {
  const vector = new UnpackedVector()
  const vectors: SparseVector[] = []
  for (let i = 0; i < cursor.count; i++) {
    vector.read(cursor)
    vectors.push(vector.copy())
  }
  cursor.finish()
  const withEnvelopes = (cursor.flags & REQUEST_FLAG.envelope) !== 0
  return sparseRequest(cursor.state, vectors, options, withEnvelopes)
}

/** Vectors that the synchronous way deferred, or those of a frame that it could not take. */
export function sparseRequest(
  state: string,
  vectors: readonly SparseVector[],
  options: QueryOptions,
  withEnvelopes: boolean,
): AsyncRequest {
  return {
    count: vectors.length,
    async run(reader) {
      const answers = await Promise.all(
        vectors.map((vector) => reader.sparseDot(state, vector, options)),
      )
      return (target) => writeSparseProducts(target, answers, withEnvelopes)
    },
  }
}
