import { ERROR_CODES, isWeirError } from '../../core/errors.ts'
import { readableKeyOfBytes } from '../../core/formats/key-text.ts'
import type { Counter } from '../../core/metrics.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { type FiringOperator, isFiring } from './firing.ts'
import type { Output, StreamOperator } from './operator.ts'
import type { OutputTag } from './output-tag.ts'
import type { Sink } from './sink.ts'

/** A record at which an operator's function threw, as plain data. */
export interface FailedRecord<T> {
  readonly value: T
  /** Event time in ms; undefined when it has none. */
  readonly timestamp?: number
  /** Uid of the operator. */
  readonly operator: string
  /** Key of the record, as a text, where the operator's input is keyed. */
  readonly key?: string
  readonly error: {
    readonly name: string
    readonly message: string
    readonly code?: string
    readonly stack?: string
  }
  /** Where the record was read; undefined where it comes from none, such as a result of a window. */
  readonly origin?: {
    /** Number of the source, in the order of the graph. */
    readonly source: number
    /** Topic that the source reads; undefined where it reads none. */
    readonly topic?: string
    readonly partition: number
    readonly offset: number
  }
}

/**
 * What happens with a record at which a function throws: the attempt fails, or the record is left out, or it goes to a
 * side output.
 */
export type RecordErrorPolicy = 'fail' | 'skip' | OutputTag<FailedRecord<unknown>>

const NOT_OF_RECORDS: ReadonlySet<string> = new Set(['NOT_ASSOCIATIVE', 'JOB_CANCELED'])

/**
 * What happens with a record at which a function throws, in each operator of a job that does not say it: as
 * `RecordErrorPolicy`, with one sink for all dead letters.
 */
export type JobErrorPolicy = 'fail' | 'skip' | { readonly deadLetters: Sink<FailedRecord<unknown>> }

type Origin = Pick<NonNullable<FailedRecord<unknown>['origin']>, 'source' | 'partition' | 'offset'>

/** What a guard of an operator's records works with. */
export interface RecordGuardParts {
  readonly policy: Exclude<RecordErrorPolicy, 'fail'>
  /** Uid of the operator. */
  readonly operator: string
  readonly output: Output
  /** Counts the records that failed. */
  readonly failed: Counter
  position(): Origin
  /** Topic of a source; undefined where it reads none. */
  topicOf(source: number): string | undefined
  /** Bytes of the key of the record; undefined where the input is not keyed. */
  key(): Uint8Array | undefined
  /** Whether an error was thrown by an operator behind this one, or by a key selector. */
  isOfAnother(error: unknown): boolean
}

/**
 * Lets an operator go on behind a record at which it throws. An error that a restart heals, that of another operator of
 * the chain, and that of a false declaration are thrown as without a guard.
 */
export function guardRecords(operator: StreamOperator, parts: RecordGuardParts): void {
  const process = operator.processElement.bind(operator)
  operator.processElement = (input, value, timestamp) => {
    try {
      process(input, value, timestamp)
    } catch (error) {
      leaveOut({ value, timestamp, error, origin: parts.position() }, parts)
    }
  }
  if (isFiring(operator)) guardParts(operator, parts)
}

/** As `guardRecords`, of the parts of a record that the operator does after `processElement`. */
function guardParts(operator: FiringOperator, parts: RecordGuardParts): void {
  const process = operator.processElement
  const proceed = operator.continueRecord?.bind(operator)
  if (proceed === undefined) return
  let atHand!: Omit<Failure, 'error'>
  operator.processElement = (input, value, timestamp) => {
    atHand = { value, timestamp, origin: { ...parts.position() } }
    process(input, value, timestamp)
  }
  operator.continueRecord = (most) => {
    try {
      return proceed(most)
    } catch (error) {
      leaveOut({ ...atHand, error }, parts)
      return 0
    }
  }
}

interface Failure {
  readonly value: unknown
  readonly timestamp: number
  readonly error: unknown
  readonly origin: Origin
}

function leaveOut(failure: Failure, parts: RecordGuardParts): void {
  const { policy, output, failed } = parts
  const { timestamp, error } = failure
  if (parts.isOfAnother(error) || isNotOfRecord(error)) throw error
  failed.increment()
  if (policy === 'skip') return
  output.collectSide(policy.id, failedRecord(failure, parts), timestamp)
}

/** Whether a restart heals the error, it says that the function is not what was declared, or the attempt is over. */
function isNotOfRecord(error: unknown): boolean {
  if (!isWeirError(error)) return false
  return ERROR_CODES[error.code].retryable || NOT_OF_RECORDS.has(error.code)
}

function failedRecord(
  { value, timestamp, error, origin: { source, partition, offset } }: Failure,
  { operator, topicOf, key }: RecordGuardParts,
): FailedRecord<unknown> {
  const [topic, keyBytes] = [topicOf(source), key()]
  const origin = { source, ...(topic === undefined ? {} : { topic }), partition, offset }
  return {
    value,
    operator,
    error: errorData(error),
    ...(timestamp === NO_TIMESTAMP ? {} : { timestamp }),
    ...(keyBytes === undefined ? {} : { key: readableKeyOfBytes(keyBytes) }),
    ...(partition < 0 ? {} : { origin }),
  }
}

function errorData(error: unknown): FailedRecord<unknown>['error'] {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) }
  const { name, message, stack } = error
  const { code } = error as { readonly code?: unknown }
  return {
    name,
    message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(stack === undefined ? {} : { stack }),
  }
}
