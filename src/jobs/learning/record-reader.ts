import type { ModelTopicRecord } from '../../models/topic/record.ts'
import { AbstractOperator } from '../../operators/port/abstract-operator.ts'
import type { OperatorContext } from '../../operators/port/operator.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../state/port/key-length.ts'
import { type RefusalReason, Refusals } from './refused.ts'

type RefusalCounter = ConstructorParameters<typeof Refusals>[1]

/** An operator that makes values of the records of a topic, and refuses the others. */
export abstract class RecordReader<T extends object> extends AbstractOperator {
  /** Longest key that the values may have, in bytes. */
  protected readonly maxKeyBytes: number
  private readonly counter: RefusalCounter
  private refusals!: Refusals

  /** `counter`: name of the metric of refused records. */
  constructor(counter: RefusalCounter, maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES) {
    super()
    this.counter = counter
    this.maxKeyBytes = maxKeyBytes
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.refusals = new Refusals(context, this.counter)
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const record = value as ModelTopicRecord
    const read = this.read(record)
    if (typeof read === 'object') this.context.output.collect(read, timestamp)
    else this.refusals.refuseRecord(record, read, timestamp)
  }

  /** The value of a record, or why there is none. */
  protected abstract read(record: ModelTopicRecord): T | RefusalReason
}
