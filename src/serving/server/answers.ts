import type { WeirError } from '../../core/errors.ts'
import { placeOf } from '../../core/position.ts'
import {
  type AnswerDetail,
  beginAnswer,
  type FrameEnvelope,
  isPlainError,
  NO_SLOT,
  writeDetails,
  writeItemEnvelope,
} from '../../wire/answer.ts'
import { ANSWER, ANSWER_FLAG, ITEM_FLAG, KIND, MAX_COUNT } from '../../wire/frame.ts'
import type { FrameWriter } from '../../wire/frame-writer.ts'
import type { Answer, AnswerEnvelope, Prediction, SparseProduct } from '../../wire/model-reader.ts'
import { hasNumberKeys, listedKey } from '../../wire/state/formatted-key.ts'
import { OK, statusOf } from '../../wire/status.ts'
import type { RankedKeys } from '../port/ranked-keys.ts'
import type { ScanPage } from '../port/scan-page.ts'

/** Target of an asynchronous answer: the writer, and the limit of a frame. */
export interface AnswerTarget {
  readonly writer: FrameWriter
  readonly kind: number
  readonly requestId: number
  readonly routingEpoch: number
  /** Largest frame the client accepts. */
  readonly maxFrameBytes: number
  /** Called with the status of every failed answer. */
  readonly failed: (status: number) => void
}

/** Bytes reserved at the end of a frame for messages of failed answers. */
const DETAIL_BYTES = 1024

/** The slot's number in `<query server>/<slot>`. */
export function slotOf(servedBy: string): number {
  const slot = Number(servedBy.slice(servedBy.lastIndexOf('/') + 1))
  return Number.isInteger(slot) && slot >= 0 && slot < NO_SLOT ? slot : NO_SLOT
}

function frameEnvelopeOf(answers: readonly Answer<unknown>[], routingEpoch: number): FrameEnvelope {
  const envelope = { modelVersion: 0, routingEpoch, checkpointId: 0, ageMs: 0 }
  let known = true
  for (const answer of answers) {
    if (!answer.ok) continue
    envelope.modelVersion = answer.envelope.modelVersion
    envelope.checkpointId = answer.envelope.checkpointId
    envelope.ageMs = Math.max(envelope.ageMs, answer.envelope.ageMs)
    if (answer.envelope.ageMs < 0) known = false
  }
  if (!known || answers.length === 0) envelope.ageMs = -1
  return envelope
}

function writeEnvelope(writer: FrameWriter, envelope: AnswerEnvelope): void {
  writeItemEnvelope(writer, {
    slot: slotOf(envelope.servedBy),
    partition: placeOf(envelope.source ?? 0, envelope.partition),
    offset: envelope.offset,
    ageMs: envelope.ageMs,
  })
}

/** Collects the messages of failed answers of one frame while there is room for them. */
class Details {
  private readonly list: AnswerDetail[] = []
  private bytes = 0

  add(index: number, error: WeirError): void {
    const estimate = error.message.length * 3 + 512
    const needed = !isPlainError(error) || error.code !== 'UNKNOWN_KEY'
    if (!needed || this.bytes + estimate > DETAIL_BYTES * 4) return
    this.bytes += estimate
    this.list.push({ index, error })
  }

  write(writer: FrameWriter): void {
    if (this.list.length === 0) return
    writer.addFlags(ANSWER_FLAG.details)
    writeDetails(writer, this.list)
  }
}

/** Writes answers to predictions. */
export function writePredictions(
  target: AnswerTarget,
  answers: readonly Answer<Prediction>[],
  withEnvelopes: boolean,
): void {
  const { writer } = target
  const flags = withEnvelopes ? ANSWER_FLAG.envelope : 0
  beginFrame(target, flags, answers)
  const details = new Details()
  answers.forEach((answer, index) => {
    if (answer.ok) {
      const { score, leftCold, rightCold } = answer.value
      const itemFlags = (leftCold ? ITEM_FLAG.leftCold : 0) | (rightCold ? ITEM_FLAG.rightCold : 0)
      writer.scoreItem(OK, itemFlags, score)
      if (withEnvelopes) writeEnvelope(writer, answer.envelope)
      return
    }
    writer.scoreItem(fail(target, index, answer.error, details), 0, 0)
    if (withEnvelopes) writeItemEnvelope(writer, NO_ENVELOPE)
  })
  details.write(writer)
  writer.end(answers.length)
}

/** The envelope of a failed prediction: its bytes are always there. */
export const NO_ENVELOPE = { slot: NO_SLOT, partition: -1, offset: 0, ageMs: -1 }

function beginFrame(
  target: AnswerTarget,
  flags: number,
  answers: readonly Answer<unknown>[],
): void {
  const envelope = frameEnvelopeOf(answers, target.routingEpoch)
  beginAnswer(target.writer, target.kind + ANSWER, flags, target.requestId, envelope)
}

function fail(target: AnswerTarget, index: number, error: WeirError, details: Details): number {
  const status = statusOf(error.code)
  target.failed(status)
  details.add(index, error)
  return status
}

/** Writes rows or encoded values, in as many frames as their bytes need. */
export function writeValues(
  target: AnswerTarget,
  answers: readonly Answer<Uint8Array | Float32Array>[],
): void {
  const limit = target.maxFrameBytes - DETAIL_BYTES * 5
  let next = 0
  // No answers are one empty frame.
  do {
    let end = next
    let bytes = 0
    while (end < answers.length && end - next < MAX_COUNT) {
      const answer = answers[end]!
      const size = 28 + (answer.ok ? answer.value.byteLength : 0)
      if (end > next && bytes + size > limit) break
      bytes += size
      end++
    }
    writeValueFrame(target, answers.slice(next, end), limit)
    next = end
  } while (next < answers.length)
}

function writeValueFrame(
  target: AnswerTarget,
  answers: readonly Answer<Uint8Array | Float32Array>[],
  limit: number,
): void {
  const { writer } = target
  beginFrame(target, ANSWER_FLAG.envelope, answers)
  const details = new Details()
  answers.forEach((answer, index) => {
    const tooLarge = answer.ok && answer.value.byteLength > limit
    if (!answer.ok || tooLarge) {
      writer.uint8(answer.ok ? tooLargeStatus(target) : fail(target, index, answer.error, details))
      writer.uint8(0)
      return
    }
    writer.uint8(OK)
    writer.uint8(0)
    writeEnvelope(writer, answer.envelope)
    writer.uint32(answer.value.byteLength)
    const { buffer, byteOffset, byteLength } = answer.value
    writer.raw(new Uint8Array(buffer, byteOffset, byteLength))
  })
  details.write(writer)
  writer.end(answers.length)
}

function tooLargeStatus(target: AnswerTarget): number {
  const status = statusOf('FRAME_TOO_LARGE')
  target.failed(status)
  return status
}

/** Writes the answer to a sparse product. */
export function writeSparseProduct(target: AnswerTarget, answer: Answer<SparseProduct>): void {
  writeSingle(target, answer, (writer, { sum, unknown }) => {
    writer.float64(sum)
    writer.uint32(unknown)
  })
}

/** Writes answers to packed sparse vectors. */
export function writeSparseProducts(
  target: AnswerTarget,
  answers: readonly Answer<SparseProduct>[],
  withEnvelopes: boolean,
): void {
  const { writer } = target
  beginFrame(target, withEnvelopes ? ANSWER_FLAG.envelope : 0, answers)
  const details = new Details()
  answers.forEach((answer, index) => {
    writer.uint8(answer.ok ? OK : fail(target, index, answer.error, details))
    writer.uint8(0)
    if (!answer.ok) return
    if (withEnvelopes) writeEnvelope(writer, answer.envelope)
    writer.float64(answer.value.sum)
    writer.uint32(answer.value.unknown)
  })
  details.write(writer)
  writer.end(answers.length)
}

/** Writes the answer to a top-k query. */
export function writeTopK(target: AnswerTarget, answer: Answer<RankedKeys>): void {
  writeSingle(target, answer, (writer, { count, scores, ends, keys }) => {
    writer.uint16(count)
    for (let i = 0, from = 0; i < count; i++) {
      const end = ends[i]!
      writer.float32(scores[i]!)
      writer.keyRange(keys, from, end)
      from = end
    }
  })
}

function writeSingle<T>(
  target: AnswerTarget,
  answer: Answer<T>,
  writeValue: (writer: FrameWriter, value: T) => void,
): void {
  const { writer } = target
  beginFrame(target, ANSWER_FLAG.envelope, [answer])
  const details = new Details()
  writer.uint8(answer.ok ? OK : fail(target, 0, answer.error, details))
  writer.uint8(0)
  if (answer.ok) {
    writeEnvelope(writer, answer.envelope)
    writeValue(writer, answer.value)
  }
  details.write(writer)
  writer.end(1)
}

/** Writes as many entries of a page as fit a frame, and the key to continue from when there are more. */
export function writeScan(target: AnswerTarget, page: ScanPage): void {
  const { bytes, spans, resume } = page
  const writeKey = keyWriterOf(target.writer, page.keyFormat)
  const { writer } = target
  beginAnswer(writer, KIND.scan + ANSWER, 0, target.requestId, {
    modelVersion: 0,
    routingEpoch: target.routingEpoch,
    checkpointId: 0,
    ageMs: -1,
  })
  let count = 0
  for (; count < bytes.length; count++) {
    const from = bytes[count]!
    const keyAt = spans[4 * count]!
    const keyEnd = spans[4 * count + 1]!
    const valueAt = spans[4 * count + 2]!
    const length = spans[4 * count + 3]! - valueAt
    // A key is counted twice: it may also become the key to continue from.
    const size = 16 + (keyEnd - keyAt) * 6 + length
    if (count > 0 && writer.frameBytes + size > target.maxFrameBytes) break
    writeKey(from, keyAt, keyEnd)
    writer.uint32(length)
    writer.copy(from, valueAt, length)
  }
  if (count < bytes.length) {
    writer.addFlags(ANSWER_FLAG.more)
    writeKey(bytes[count]!, spans[4 * count]!, spans[4 * count + 1]!)
  } else if (resume !== undefined) {
    writer.addFlags(ANSWER_FLAG.more)
    writeKey(resume, 0, resume.length)
  }
  writer.end(count)
}

/** Writes keys in `bytes[from .. end)` as texts. */
function keyWriterOf(
  writer: FrameWriter,
  format: string | undefined,
): (bytes: Uint8Array, from: number, end: number) => void {
  if (!hasNumberKeys(format)) return (bytes, from, end) => writer.keyText(bytes, from, end)
  return (bytes, from, end) => writer.key(listedKey(bytes.subarray(from, end), format))
}
