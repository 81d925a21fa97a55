import { requireArgument, WeirError } from '../../core/errors.ts'
import {
  HEADER,
  LAYOUT_VERSION,
  offsetsOf,
  PRODUCER_WORDS,
  type QueueShape,
  SLOT_WORDS,
  WORKER_NUMBERS,
} from './layout.ts'

/** Most bytes of the memory of one queue. */
const MAX_BYTES = 2 ** 31

/** Views of the shared memory of a queue. */
export class QueueMemory {
  readonly buffer: SharedArrayBuffer
  readonly capacity: number
  readonly inputBytes: number
  readonly outputBytes: number
  readonly words: Int32Array
  readonly numbers: Float64Array
  readonly bytes: Uint8Array
  /** Words of a bitmap with a bit a slot. */
  readonly bitWords: number
  /** Index of the first word of the ready bits, and of the order. */
  readonly readyAt: number
  readonly orderAt: number
  /** Index of the first number of the estimates. */
  readonly estimatesAt: number
  /** Index of the first word or number of each part, or its offset in bytes. */
  private readonly slotsAt: number
  private readonly inputsAt: number
  private readonly outputsAt: number
  private readonly workersAt: number
  private readonly producersAt: number
  private readonly donesAt: number

  /** Opens the memory of a queue. Throws UNSUPPORTED_VERSION. */
  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer
    this.words = new Int32Array(buffer)
    if (this.words[HEADER.version] !== LAYOUT_VERSION) {
      throw new WeirError('UNSUPPORTED_VERSION', 'the memory of a queue has another layout')
    }
    this.numbers = new Float64Array(buffer, 0, Math.floor(buffer.byteLength / 8))
    this.bytes = new Uint8Array(buffer)
    this.capacity = this.words[HEADER.capacity]!
    this.inputBytes = this.words[HEADER.inputBytes]!
    this.outputBytes = this.words[HEADER.outputBytes]!
    const offsets = offsetsOf(this)
    this.bitWords = offsets.bitWords
    this.readyAt = offsets.ready / 4
    this.orderAt = offsets.order / 4
    this.estimatesAt = offsets.estimates / 8
    this.slotsAt = offsets.slots / 4
    this.inputsAt = offsets.inputs
    this.outputsAt = offsets.outputs
    this.workersAt = offsets.workers / 8
    this.producersAt = offsets.producers / 4
    this.donesAt = offsets.done / 4
  }

  /** Creates the memory of an empty queue. Throws INVALID_ARGUMENT when it would be too large. */
  static create({ capacity, inputBytes, outputBytes }: QueueShape): QueueMemory {
    const shape = { capacity, inputBytes: align8(inputBytes), outputBytes: align8(outputBytes) }
    const { length } = offsetsOf(shape)
    requireArgument(
      length <= MAX_BYTES,
      `the queue needs ${length} bytes, more than ${MAX_BYTES}: lower queueCapacity, inputBytes or outputBytes`,
    )
    const buffer = new SharedArrayBuffer(align8(length))
    const words = new Int32Array(buffer)
    words[HEADER.version] = LAYOUT_VERSION
    words[HEADER.capacity] = capacity
    words[HEADER.inputBytes] = shape.inputBytes
    words[HEADER.outputBytes] = shape.outputBytes
    return new QueueMemory(buffer)
  }

  /** Index of the first word of a slot. */
  slotAt(slot: number): number {
    return this.slotsAt + slot * SLOT_WORDS
  }

  /** Byte offset of the inputs of a slot. */
  inputAt(slot: number): number {
    return this.inputsAt + slot * this.inputBytes
  }

  /** Byte offset of the outputs of a slot. */
  outputAt(slot: number): number {
    return this.outputsAt + slot * this.outputBytes
  }

  /** Index of the first number of a worker's row. */
  workerAt(worker: number): number {
    return this.workersAt + worker * WORKER_NUMBERS
  }

  /** Index of the first word of a producer's row. */
  producerAt(producer: number): number {
    return this.producersAt + producer * PRODUCER_WORDS
  }

  /** Index of the first word of a producer's done bits. */
  doneAt(producer: number): number {
    return this.donesAt + producer * this.bitWords
  }
}

const align8 = (bytes: number): number => Math.ceil(bytes / 8) * 8
