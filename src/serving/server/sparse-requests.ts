import { writeItemEnvelope } from '../../wire/answer.ts'
import { DEFERRED, KIND, REQUEST_FLAG } from '../../wire/frame.ts'
import type { FrameWriter } from '../../wire/frame-writer.ts'
import type { QueryOptions, SparseVector } from '../../wire/model-reader.ts'
import type { RequestCursor } from '../../wire/request.ts'
import { UnpackedVector } from '../../wire/sparse-vector.ts'
import { OK } from '../../wire/status.ts'
import { type ReadGroup, SparseOutcome } from '../port/query-backend.ts'
import type { OwnedQueryOptions } from '../port/request-owner.ts'
import { writeSparseProducts } from './answers.ts'
import type { AsyncRequest } from './async-request.ts'
import { GroupEnvelope } from './group-envelope.ts'
import type { QueryMetrics } from './metrics.ts'

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
   * Answers a frame whose preamble was read. Returns the deferred vectors, in order. Throws
   * PROTOCOL_ERROR; the caller then abandons the half-written answer.
   */
  answer(
    cursor: RequestCursor,
    group: ReadGroup,
    writer: FrameWriter,
    routingEpoch: number,
  ): SparseVector[] | undefined {
    const { outcome, vector } = this
    const withEnvelopes = this.envelope.begin(writer, cursor, KIND.sparseDot, group, routingEpoch)
    outcome.withPosition = withEnvelopes
    let deferred: SparseVector[] | undefined
    for (let i = 0; i < cursor.count; i++) {
      vector.read(cursor)
      // A deferred vector that is not finite fails with its message.
      const status = vector.isFinite ? group.sparseDot(vector, outcome) : DEFERRED
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
}

/** All vectors of a packed frame as an asynchronous request. Throws PROTOCOL_ERROR. */
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

/** Vectors of a frame that are read at a time: each may have thousands of features. */
const VECTORS_AT_ONCE = 64

/** Sparse products: all vectors of a frame, or those that the synchronous way deferred. */
export function sparseRequest(
  state: string,
  vectors: readonly SparseVector[],
  options: QueryOptions,
  withEnvelopes: boolean,
): AsyncRequest {
  return {
    count: vectors.length,
    mostAtOnce: VECTORS_AT_ONCE,
    async run({ backend, deadlineMs, owner }, from, most) {
      const own: OwnedQueryOptions = { ...options, deadlineMs, owner }
      const answers = await Promise.all(
        vectors
          .slice(from, from + most)
          .map((vector) => backend.reader.sparseDot(state, vector, own)),
      )
      return {
        count: answers.length,
        write: (target) => writeSparseProducts(target, answers, withEnvelopes),
      }
    },
  }
}
