import { WeirError } from '../../core/errors.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import { innerProduct } from '../../core/kernels/inner-product.ts'
import type { SlotQueryAnswer } from '../../state/port/slot-query.ts'
import {
  checkVectorRow,
  VECTOR_ROW_HEADER_BYTES,
  VECTOR_ROW_OFFSET_AT,
  VECTOR_ROW_PARTITION_AT,
  vectorRowBytes,
} from '../../state/rows/codec.ts'
import type { RowMetaTarget, RowTableReader } from '../../state/rows/reader.ts'
import { SPILLED } from '../../state/rows/reader.ts'
import type { Answer, Prediction } from '../../wire/model-reader.ts'
import type { AskedRows, LocalSlotAsker } from '../catalog/slot-asker.ts'
import type { DeferredPredictions } from '../port/query-backend.ts'
import type { Envelopes, LocalRequests, VectorRequest } from './request.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** States of a row: not found yet, in `floats`, or asked of its slot. */
const NOWHERE = 0
const READ = 1
const ASKED = 2

/** Rows asked of one slot and their numbers in the batch. */
interface SlotRows {
  readonly asked: AskedRows
  readonly keys: Uint8Array[]
  readonly rows: number[]
}

/** The rows of a frame's deferred predictions, left ones at even numbers, right ones at odd numbers. */
class DeferredRows {
  readonly dimension: number
  /** NOWHERE, READ or ASKED, by row. */
  readonly places: Uint8Array
  /** [rows, dimension] */
  readonly floats: Float32Array
  readonly slots: Int32Array
  readonly partitions: Int32Array
  readonly offsets: Float64Array
  private readonly bytes: Uint8Array

  constructor(rows: number, dimension: number) {
    this.dimension = dimension
    this.places = new Uint8Array(rows)
    this.floats = new Float32Array(rows * dimension)
    this.bytes = new Uint8Array(this.floats.buffer)
    this.slots = new Int32Array(rows)
    this.partitions = new Int32Array(rows)
    this.offsets = new Float64Array(rows)
  }

  /** Copies a row from memory, unless it changes meanwhile. */
  copy(n: number, reader: RowTableReader, row: number, meta: RowMetaTarget): void {
    const sequence = reader.foundSequence
    reader.metaInto(row, sequence, meta)
    if (!reader.readInto(row, sequence, this.floats, n * this.dimension)) return
    this.slots[n] = reader.share.slot
    this.partitions[n] = meta.partition
    this.offsets[n] = meta.offset
    this.places[n] = READ
  }

  /** Copies a row from a slot's answer. Throws as `checkVectorRow`. */
  decode(n: number, slot: number, value: Uint8Array): void {
    checkVectorRow(value, this.dimension)
    const end = vectorRowBytes(this.dimension)
    this.bytes.set(value.subarray(VECTOR_ROW_HEADER_BYTES, end), n * this.dimension * 4)
    const view = new DataView(value.buffer, value.byteOffset, VECTOR_ROW_HEADER_BYTES)
    this.slots[n] = slot
    this.partitions[n] = view.getInt32(VECTOR_ROW_PARTITION_AT, true)
    this.offsets[n] = view.getFloat64(VECTOR_ROW_OFFSET_AT, true)
    this.places[n] = READ
  }

  product(pair: number): number {
    const { floats, dimension } = this
    const left = 2 * pair * dimension
    return innerProduct(floats, left, floats, left + dimension, dimension)
  }
}

/** The text of the `n`-th key of a frame, left and right ones counted. Throws PROTOCOL_ERROR. */
export function deferredKey({ bytes, spans }: DeferredPredictions, n: number): string {
  const at = spans[2 * n]!
  try {
    return decoder.decode(bytes.subarray(at, at + spans[2 * n + 1]!))
  } catch (cause) {
    throw new WeirError('PROTOCOL_ERROR', 'a request is malformed: a key is not UTF-8', { cause })
  }
}

/**
 * Predictions of one frame for which slots are asked: one request per slot, one promise per frame. A
 * pair with a row that is neither in memory nor spilled (it is missing, its slot restores, it is being
 * written) is predicted as a single prediction, and so is every pair when a slot has begun to restore.
 */
export class LocalDeferredPredictions {
  private readonly requests: LocalRequests
  private readonly asker: LocalSlotAsker
  private readonly meta: RowMetaTarget = { updateCount: 0, partition: -1, offset: 0, eventTime: -1 }

  constructor(requests: LocalRequests, asker: LocalSlotAsker) {
    this.requests = requests
    this.asker = asker
  }

  /**
   * Answers in the order of the pairs; `single` predicts those with a row that is neither in memory nor
   * spilled. The request's level is not `checkpoint`.
   */
  async predict(
    request: VectorRequest,
    deferred: DeferredPredictions,
    single: (pair: number) => Promise<Answer<Prediction>>,
  ): Promise<Answer<Prediction>[]> {
    if (this.requests.hasReachedAll(request) || (await this.waited(request, deferred))) {
      return this.predictTogether(request, deferred, single)
    }
    return Promise.all(Array.from({ length: deferred.spans.length / 4 }, (_, i) => single(i)))
  }

  /**
   * Waits until the slots of all the pairs have reached the bound; false when one does not reach it. A wait for
   * each pair would be a dozen objects for each, of frames that may wait in vain. Throws the owner's error when the
   * connection is gone.
   */
  private async waited(request: VectorRequest, deferred: DeferredPredictions): Promise<boolean> {
    try {
      const check = await this.requests.reachAll(ownersOf(request, deferred), request)
      check()
      return true
    } catch (error) {
      if (request.owner?.gone !== undefined) throw error
      return false
    }
  }

  private async predictTogether(
    request: VectorRequest,
    { bytes, spans }: DeferredPredictions,
    single: (pair: number) => Promise<Answer<Prediction>>,
  ): Promise<Answer<Prediction>[]> {
    const incarnations = this.requests.incarnations()
    const envelopes = this.requests.envelopes(request)
    const dimension = request.state.keyClasses[0]!.dimensionOf(request.version)
    const rows = new DeferredRows(spans.length / 2, dimension)
    const batches: SlotRows[] = []
    for (let n = 0; 2 * n < spans.length; n++) {
      this.gather(request, rows, n, bytes, spans[2 * n]!, spans[2 * n + 1]!, batches)
    }
    const asked = batches.map(async ({ asked, keys, rows: numbers }) => {
      const { slot } = asked
      const answers = await this.asker.rows(asked, keys, request)
      // A slot that has gone back to a checkpoint answers with less than it had applied before.
      if (this.requests.incarnationOf(slot) === incarnations[slot]) {
        take(rows, slot, numbers, answers)
      } else for (const n of numbers) rows.places[n] = NOWHERE
    })
    await this.requests.within(request, Promise.all(asked))
    return this.answers(envelopes, rows, single)
  }

  private gather(
    request: VectorRequest,
    rows: DeferredRows,
    n: number,
    bytes: Uint8Array,
    at: number,
    length: number,
    batches: SlotRows[],
  ): void {
    const keyClass = request.state.keyClassOf(bytes, at, length)
    const hash = murmur3(bytes, at, length) | 0
    const reader = keyClass?.versions.get(request.version)?.readerOf(hash)
    if (keyClass === undefined || reader?.layout.dimension !== rows.dimension) return
    const row = reader.find(bytes, at, length, hash)
    if (row >= 0) rows.copy(n, reader, row, this.meta)
    if (row !== SPILLED || keyClass.isMeanKey(bytes, at, length)) return
    const { slot } = reader.share
    let batch = batches.find(({ asked }) => asked.slot === slot && asked.keyClass === keyClass)
    if (batch === undefined) {
      const { version } = request
      batch = { asked: { slot, keyClass, version, bring: false }, keys: [], rows: [] }
      batches.push(batch)
    }
    rows.places[n] = ASKED
    batch.keys.push(bytes.subarray(at, at + length))
    batch.rows.push(n)
  }

  private async answers(
    envelopes: Envelopes,
    rows: DeferredRows,
    single: (pair: number) => Promise<Answer<Prediction>>,
  ): Promise<Answer<Prediction>[]> {
    const answers: (Answer<Prediction> | Promise<Answer<Prediction>>)[] = []
    let singles = false
    for (let pair = 0; 2 * pair < rows.places.length; pair++) {
      const left = 2 * pair
      if (rows.places[left] === READ && rows.places[left + 1] === READ) {
        const value = { score: rows.product(pair), leftCold: false, rightCold: false }
        const envelope = envelopes(rows.slots[left]!, rows.partitions[left]!, rows.offsets[left]!)
        answers.push({ ok: true, value, envelope })
      } else {
        singles = true
        answers.push(single(pair))
      }
    }
    return singles ? Promise.all(answers) : (answers as Answer<Prediction>[])
  }
}

/** Slots that own the keys; all slots of the mean row. */
function ownersOf({ state }: VectorRequest, { bytes, spans }: DeferredPredictions): Set<number> {
  const slots = new Set<number>()
  for (let at = 0; at < spans.length; at += 2) {
    const [from, length] = [spans[at]!, spans[at + 1]!]
    const keyClass = state.keyClassOf(bytes, from, length)
    if (keyClass === undefined) continue
    if (keyClass.isMeanKey(bytes, from, length)) for (const slot of keyClass.slots) slots.add(slot)
    else slots.add(keyClass.slotOf(murmur3(bytes, from, length) | 0))
  }
  slots.delete(-1)
  return slots
}

function take(
  rows: DeferredRows,
  slot: number,
  numbers: readonly number[],
  answers: readonly SlotQueryAnswer[],
): void {
  for (let i = 0; i < numbers.length; i++) {
    const answer = answers[i]!
    if (answer.kind === 'found') rows.decode(numbers[i]!, slot, answer.value)
    else rows.places[numbers[i]!] = NOWHERE
  }
}
