import { isWeirError, messageOf } from '../../core/errors.ts'
import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'
import type { RecordTarget } from './outgoing-record.ts'
import type { SmallerRecord } from './smaller-record.ts'
import type { RecordView } from './topic-record.ts'

const encoder = new TextEncoder()
const OMITTED = 'weir-omitted'
const REASON = 'weir-reason'
/** Bytes of a reason in a copy that is too large even without its value. */
const SHORT_REASON = 1_000

/** Producer of dead letters: that of the embedded log or of Kafka. */
export interface DeadLetterProducer extends RecordTarget {
  ready(): boolean
  dispatch(): void
  settled(): Promise<void>
}

/**
 * Copies records that cannot be decoded to another topic, with the reason and their position. The
 * copies of one poll share batches. Reading continues while they are in flight, until the producer's
 * buffers are full; a checkpoint waits for them.
 */
export class DeadLetters {
  private readonly producer: DeadLetterProducer
  private readonly topic: string
  private readonly onSettled: () => void
  private failure: unknown
  private unsent = false
  private settling: Promise<void> | undefined

  /** `topic`: the topic that is read. `onSettled`: called when all copies are durable, or one failed. */
  constructor(producer: DeadLetterProducer, topic: string, onSettled: () => void) {
    this.producer = producer
    this.topic = topic
    this.onSettled = onSettled
  }

  /** Copies a record. Throws the failure of an earlier copy. */
  copy(record: RecordView, partition: number, reason: unknown): void {
    const origin = `${this.topic}/${partition}/${record.offset}`
    const headers: RecordHeader[] = [
      ...record.headers(),
      { key: 'weir-origin', value: encoder.encode(origin) },
      { key: REASON, value: encoder.encode(messageOf(reason)) },
      { key: 'weir-code', value: encoder.encode(codeOf(reason)) },
    ]
    this.producer.sendRecord(record.key(), record.value(), record.timestamp, -1, headers)
    this.unsent = true
    this.settling ??= this.settleAll()
  }

  private async settleAll(): Promise<void> {
    try {
      while (this.unsent) {
        // After the end of the poll, so that its copies share batches.
        await Promise.resolve()
        this.unsent = false
        this.producer.dispatch()
        await this.producer.settled()
      }
    } catch (error) {
      this.failure = error
    }
    this.settling = undefined
    this.onSettled()
  }

  /** Whether reading can continue. */
  get ready(): boolean {
    return this.producer.ready()
  }

  /** Whether every copy is durable. */
  get isSettled(): boolean {
    return this.settling === undefined
  }

  /** Throws the failure of a copy, if there is one. */
  throwFailure(): void {
    if (this.failure !== undefined) throw this.failure
  }

  /** Resolves when every copy is durable. Throws the failure of a copy. */
  async settled(): Promise<void> {
    await this.settling
    this.throwFailure()
  }
}

/** Every error of a deserializer means that the record cannot be decoded. */
function codeOf(reason: unknown): string {
  return isWeirError(reason) ? reason.code : 'UNPARSABLE_RECORD'
}

/**
 * A smaller dead letter in place of one that the topic refuses as too large: first without the value,
 * then with nothing but the origin and the reason. The header `weir-omitted` says what is missing.
 * Undefined when nothing is left to omit.
 */
export function smallerDeadLetter(refused: RecordView): SmallerRecord | undefined {
  const headers = refused.headers()
  const value = refused.value()
  const { timestamp } = refused
  if (value !== null) {
    const omitted = omission(`value of ${value.length} bytes`)
    return { key: refused.key(), value: null, timestamp, headers: [...headers, omitted] }
  }
  const before = headers.findLast(({ key }) => key === OMITTED)?.value ?? null
  const kept = headers.filter(({ key }) => OWN_HEADERS.has(key)).map(shortened)
  if (refused.key() === null && kept.length + 1 >= headers.length) return undefined
  const all = [...(before === null ? [] : [decoder.decode(before)]), 'key and headers']
  return { key: null, value: null, timestamp, headers: [...kept, omission(all.join(', '))] }
}

const decoder = new TextDecoder()
const OWN_HEADERS = new Set(['weir-origin', REASON, 'weir-code'])

function omission(what: string): RecordHeader {
  return { key: OMITTED, value: encoder.encode(what) }
}

function shortened({ key, value }: RecordHeader): RecordHeader {
  return { key, value: value?.subarray(0, SHORT_REASON) ?? null }
}
