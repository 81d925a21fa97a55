import { ByteReader } from '../../../core/byte-reader.ts'
import { ByteWriter } from '../../../core/byte-writer.ts'
import { WeirError } from '../../../core/errors.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../../core/time.ts'
import { AbstractOperator } from '../../../operators/port/abstract-operator.ts'
import type {
  OperatorContext,
  Output,
  WatermarkingOperator,
} from '../../../operators/port/operator.ts'
import type { ExchangeHead } from './exchange-format.ts'

/** A record of an exchange topic as the source delivers it. */
export interface ExchangeRecord extends ExchangeHead {
  /** Undefined where it is no record. */
  readonly value: unknown
}

const SENDERS = 'senders'
const IDLE = MAX_TIMESTAMP

/*
 * Operator state `senders`, version 1, little-endian:
 *
 *   | 01 | number of senders: uint32 | watermark of each, MAX_TIMESTAMP while it is idle: int64 ... |
 */
const SENDERS_VERSION = 1

/**
 * An operator that emits the records of an exchange topic with their event times, and makes the watermark of their
 * senders: the smallest one of those that are not idle. What it knows of the senders is in its checkpoint, because
 * they do not send it again.
 */
export class ExchangeReceiver extends AbstractOperator implements WatermarkingOperator {
  private readonly watermarks: number[]
  private output!: Output
  private incoming = MIN_TIMESTAMP
  private smallest = MIN_TIMESTAMP

  /** `senders`: number of job partitions. */
  constructor(senders: number) {
    super()
    this.watermarks = new Array<number>(senders).fill(MIN_TIMESTAMP)
  }

  override open(context: OperatorContext): void {
    this.context = context
    this.output = context.output
    for (const entry of context.operatorState.restored(SENDERS)) this.restore(entry)
    this.compare()
  }

  processElement(_input: number, value: unknown): void {
    const record = value as ExchangeRecord
    if (record.kind === 'record') {
      this.output.collect(record.value, record.time)
      return
    }
    this.watermarks[record.sender] = record.kind === 'idle' ? IDLE : record.time
    this.compare()
  }

  override processWatermark(watermark: number): void {
    this.incoming = watermark
  }

  outputWatermark(): number {
    if (this.incoming >= MAX_TIMESTAMP) return MAX_TIMESTAMP
    return this.smallest === IDLE ? MIN_TIMESTAMP : this.smallest
  }

  outputIdle(): boolean {
    return this.smallest === IDLE
  }

  override prepareSnapshot(): void {
    const writer = new ByteWriter(5 + 8 * this.watermarks.length)
    writer.uint8(SENDERS_VERSION)
    writer.uint32(this.watermarks.length)
    for (const watermark of this.watermarks) writer.int53(watermark)
    this.context.operatorState.update(SENDERS, 'union', [writer.toBytes()])
  }

  private restore(entry: Uint8Array): void {
    const reader = new ByteReader(entry)
    const version = reader.uint8()
    if (version !== SENDERS_VERSION) {
      const message = `the senders of an exchange have version ${version}, this build reads ${SENDERS_VERSION}`
      throw new WeirError('UNSUPPORTED_VERSION', message)
    }
    const senders = reader.uint32()
    // Other job partitions send other records.
    if (senders !== this.watermarks.length) return
    for (let sender = 0; sender < senders; sender++) this.watermarks[sender] = reader.int53()
  }

  private compare(): void {
    this.smallest = Math.min(...this.watermarks)
  }
}
