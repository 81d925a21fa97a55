import { count, objectWith, positiveMilliseconds } from '../../core/options/kinds.ts'
import { serializer } from '../../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import type { AsyncFunction } from '../../operators/async/function.ts'
import type { AsyncRetryStrategy } from '../../operators/async/retry-strategy.ts'
import { AsyncWaitOperator, type AsyncWaitOptions } from '../../operators/async/wait-operator.ts'
import { sampleOf } from '../checks/function-factory.ts'
import { requireMethods } from '../checks/object-argument.ts'
import type { DataStream } from '../data-stream.ts'
import { commonSerializer } from '../graph-draft.ts'

/** Options of asynchronous I/O. */
export interface AsyncIoOptions<OUT> {
  /** Most records of a subtask that wait for their results at the same time. @default 100 */
  readonly capacity?: number
  /** Longest time of a record with all its calls, ms. @default no limit */
  readonly timeoutMs?: number
  /** @default every record is asked once */
  readonly retryStrategy?: AsyncRetryStrategy<OUT>
  /** Encodes the results where they cross slots. @default MessagePack */
  readonly serializer?: Serializer<OUT>
}

const ASYNC_IO: OptionShape<AsyncIoOptions<unknown>> = {
  capacity: count,
  timeoutMs: positiveMilliseconds,
  retryStrategy: objectWith(
    'a retry strategy, such as fixedDelayRetry({ maxAttempts: 3, delayMs: 100 })',
    'delayMs',
    'retriesError',
    'retriesResults',
  ),
  serializer: serializer<unknown>(),
}

/** A stream whose records are asked about: a DataStream or a KeyedStream. */
export type AsyncInput<IN> = Pick<DataStream<IN>, 'recordType' | 'origins' | 'transform'>

/** What `AsyncDataStream` offers; `create` makes a function for every subtask. */
export interface AsyncIo {
  /** Emits the results in the order of their records. */
  orderedWait<IN, OUT>(
    stream: AsyncInput<IN>,
    create: () => AsyncFunction<IN, OUT>,
    options?: AsyncIoOptions<OUT>,
  ): DataStream<OUT>
  /** Emits the results as they come; only watermarks keep their place among the records. */
  unorderedWait<IN, OUT>(
    stream: AsyncInput<IN>,
    create: () => AsyncFunction<IN, OUT>,
    options?: AsyncIoOptions<OUT>,
  ): DataStream<OUT>
}

/**
 * Asynchronous I/O on a stream: calls of a database or a service for each record, many at the same time. Watermarks,
 * source progress and the end of input wait for the records before them. The records whose results are not emitted
 * are part of a checkpoint. All methods throw INVALID_ARGUMENT for options outside their range.
 */
export const AsyncDataStream: AsyncIo = {
  orderedWait: (stream, create, options = {}) =>
    asyncWait({ stream, create, mode: 'ordered', options }),
  unorderedWait: (stream, create, options = {}) =>
    asyncWait({ stream, create, mode: 'unordered', options }),
}

interface AsyncWait<IN, OUT> {
  readonly stream: AsyncInput<IN>
  readonly create: () => AsyncFunction<IN, OUT>
  readonly mode: AsyncWaitOptions<IN, OUT>['mode']
  readonly options: AsyncIoOptions<OUT>
}

function asyncWait<IN, OUT>({
  stream,
  create,
  mode,
  options,
}: AsyncWait<IN, OUT>): DataStream<OUT> {
  const operator = mode === 'ordered' ? 'AsyncWait' : 'AsyncWaitUnordered'
  requireMethods(stream, { call: `${mode}Wait(...)`, methods: ['transform'], takes: 'a stream' })
  sampleOf(create, { call: `${mode}Wait`, operator, methods: ['asyncInvoke'] })
  checkOptions(`${mode}Wait`, ASYNC_IO, options)
  const { capacity = 100, timeoutMs, retryStrategy, serializer: results } = options
  const records = commonSerializer(stream.origins)
  const settings = { mode, capacity, timeoutMs, retryStrategy, serializer: records }
  return stream.transform<OUT>(
    operator,
    () => new AsyncWaitOperator<IN, OUT>({ ...settings, userFunction: create() }),
    { sideOutputs: [], ...(results === undefined ? {} : { serializer: results }) },
  )
}
