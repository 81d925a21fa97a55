import { WeirError } from '../core/errors.ts'
import type { PlainKey } from '../core/formats/plain-key-serializer.ts'
import { MAX_MAX_PARALLELISM } from '../core/key-group.ts'
import {
  anything,
  count,
  name,
  objectWith,
  optional,
  recordOf,
  required,
  parallelism as subtasks,
  wholeNumber,
} from '../core/options/kinds.ts'
import { serializer } from '../core/options/ports.ts'
import { checkArgument, checkOptions, type OptionShape } from '../core/options/shape.ts'
import type { Serializer } from '../core/serializer.ts'
import { refuseArgument } from '../core/text/refuse-argument.ts'
import { ElementsSource } from '../operators/basic/elements-source.ts'
import { SequenceSource } from '../operators/basic/sequence-source.ts'
import type { JobErrorPolicy } from '../operators/port/failed-record.ts'
import type { Source } from '../operators/port/source.ts'
import { buildGraph } from './build-graph.ts'
import { requireMethods } from './checks/object-argument.ts'
import { requireStrategy } from './checks/strategy-argument.ts'
import { DataStream } from './data-stream.ts'
import { GraphDraft, type StreamOrigin } from './graph-draft.ts'
import type { NodeSpec } from './node-spec.ts'
import { StreamFactory } from './stream-factory.ts'
import {
  type ExecuteOptions,
  type JobExecutor,
  type JobResult,
  RETURN_PATH,
  type ReturnPath,
  type StartedJob,
  type StreamGraph,
} from './stream-graph.ts'
import { type Table, tableOf } from './table.ts'
import { TABLE, type TableOptions } from './tables/options.ts'
import { type GraphIssue, refuseErrors, validateDraft } from './validate-graph.ts'
import { makesWatermarks, noWatermarks, type WatermarkStrategy } from './watermark-strategy.ts'

/** Options of a table of a source. */
export interface TableSourceOptions<T, K, V> extends TableOptions<T, K, V> {
  /** Event time of the changes of rows, for joins with `wait: 'event-time'`; others take no notice. @default none */
  readonly watermarks?: WatermarkStrategy<T>
}

const TABLE_SOURCE: OptionShape<TableSourceOptions<unknown, unknown, unknown>> = {
  ...TABLE,
  watermarks: objectWith('a watermark strategy: boundedOutOfOrderness(1_000)', 'timestampOf'),
}

/** Options of an environment. */
export interface EnvironmentOptions {
  /** Parallelism of operators that set none. @default 1 */
  readonly parallelism?: number
  /** Max parallelism of operators that set none. @default from the parallelism, as Flink */
  readonly maxParallelism?: number
  /** @default 'job' */
  readonly jobName?: string
  /** Runs the graph at `execute`. */
  readonly executor?: JobExecutor
}

const ENVIRONMENT: OptionShape<EnvironmentOptions> = {
  parallelism: count,
  maxParallelism: wholeNumber({ min: 1, max: MAX_MAX_PARALLELISM }),
  jobName: name,
  executor: objectWith('an executor, such as new LocalExecutor()', 'execute'),
}

/** Options of a source. */
export interface SourceOptions<T> {
  /** Encodes the records where they cross slots. @default MessagePack */
  readonly serializer?: Serializer<T>
  /**
   * How effects of the records on keys of other records come back to the job. A read `at-least` a position of
   * this source then waits for them, too. @default there are none
   */
  readonly returnsThrough?: ReturnPath
}

const SOURCE: OptionShape<SourceOptions<unknown>> = {
  serializer: serializer<unknown>(),
  returnsThrough: RETURN_PATH,
}

/** The start of a job. It makes the streams of sources, and the graph from all that follows them. */
export class StreamExecutionEnvironment {
  private readonly draft = new GraphDraft()
  private readonly factory = new StreamFactory(
    this.draft,
    <T>(factory: StreamFactory, origins: readonly StreamOrigin[]) =>
      new DataStream<T>(factory, origins),
    (jobName) => this.start(jobName),
  )
  private readonly executor: JobExecutor | undefined
  private jobName: string

  constructor(options: EnvironmentOptions = {}) {
    checkOptions('new StreamExecutionEnvironment', ENVIRONMENT, options)
    this.executor = options.executor
    this.jobName = options.jobName ?? 'job'
    this.draft.defaultParallelism = options.parallelism ?? 1
    this.draft.defaultMaxParallelism = options.maxParallelism
  }

  /** Sets the parallelism of operators that set none. */
  setParallelism(parallelism: number): this {
    checkArgument('setParallelism', 'parallelism', subtasks, parallelism)
    this.draft.defaultParallelism = parallelism
    return this
  }

  /** Sets the number of key groups of operators that set none. It cannot change once there is keyed state. */
  setMaxParallelism(maxParallelism: number): this {
    checkArgument('setMaxParallelism', 'maxParallelism', subtasks, maxParallelism)
    this.draft.defaultMaxParallelism = maxParallelism
    return this
  }

  /**
   * Sets what happens with a record at which a function throws, in each operator that does not say it with `onError`.
   * `fail`, the default, ends the attempt. `skip` leaves the record out. `{ deadLetters: sink }` sends it with its
   * error and its origin to a sink, such as one with `serializeFailedRecord`; the sink has the uid `dead-letters`.
   * Sources and sinks have options of their own, and asynchronous functions catch their errors. Throws
   * INVALID_ARGUMENT for another policy.
   */
  onError(policy: JobErrorPolicy): this {
    if (policy !== 'fail' && policy !== 'skip') requireDeadLetters(policy)
    this.draft.onError = policy
    return this
  }

  /** Sets the name of the job. */
  setJobName(jobName: string): this {
    checkArgument('setJobName', 'jobName', name, jobName)
    this.jobName = jobName
    return this
  }

  /** A stream of the records of a source. */
  fromSource<T>(
    source: Source<T>,
    watermarks: WatermarkStrategy<T> = noWatermarks(),
    operator = 'Source',
    options: SourceOptions<T> = {},
  ): DataStream<T> {
    checkArgument('fromSource', 'the name', name, operator)
    checkOptions('fromSource', SOURCE, options)
    const takes = 'a source, which has createReader(...): use fromElements([...]) for an array'
    requireMethods(source, { call: 'fromSource(...)', methods: ['createReader'], takes })
    requireStrategy(watermarks, 'fromSource')
    return this.factory.add(sourceSpec(source, watermarks, { name: operator, ...options }), [])
  }

  /** A bounded stream of some elements, which one subtask reads; for tests and examples. */
  fromElements<T>(
    elements: readonly T[],
    watermarks: WatermarkStrategy<T> = noWatermarks(),
  ): DataStream<T> {
    if (!Array.isArray(elements)) {
      refuseArgument('fromElements(...)', elements, 'an array: fromElements([1, 2, 3])')
    }
    requireStrategy(watermarks, 'fromElements')
    const source = new ElementsSource(elements)
    return this.factory.add(
      sourceSpec(source, watermarks, { name: 'Elements', parallelism: 1 }),
      [],
    )
  }

  /**
   * A table of the records of a source: the latest value of each key, as of a compacted topic or a changelog. Streams join
   * it with `joinTable`. Throws INVALID_ARGUMENT.
   */
  table<T, K extends PlainKey, V = T>(
    source: Source<T>,
    options: TableSourceOptions<T, K, V> & { readonly keySerializer?: undefined },
  ): Table<K, V>
  table<T, K, V = T>(
    source: Source<T>,
    options: TableSourceOptions<T, K, V> & { readonly keySerializer: Serializer<K> },
  ): Table<K, V>
  table<T, K, V = T>(source: Source<T>, options: TableSourceOptions<T, K, V>): Table<K, V> {
    checkOptions('table', TABLE_SOURCE as OptionShape<TableSourceOptions<T, K, V>>, options)
    const { watermarks = noWatermarks<T>(), ...rows } = options
    const stream = this.fromSource(source, watermarks, 'Table source')
    return tableOf(this.factory, stream, rows)
  }

  /**
   * A bounded stream of the whole numbers from `from` to `to`, both included. Its subtasks share them. Throws
   * INVALID_ARGUMENT.
   */
  fromSequence(from: number, to: number): DataStream<number> {
    const options = { name: 'Sequence' }
    return this.factory.add(sourceSpec(new SequenceSource(from, to), noWatermarks(), options), [])
  }

  /** All errors and warnings of the graph so far. */
  validate(): GraphIssue[] {
    return validateDraft(this.draft)
  }

  /** The graph. Throws INVALID_GRAPH with one sentence per broken rule. */
  graph(jobName: string = this.jobName): StreamGraph {
    checkArgument('graph', 'jobName', name, jobName)
    refuseErrors(this.validate())
    return buildGraph(this.draft, jobName)
  }

  /** Runs the graph with the environment's executor. Throws ILLEGAL_STATE when it has none. */
  async execute(jobName?: string, options: ExecuteOptions = {}): Promise<JobResult> {
    checkArgument('execute', 'jobName', optional(name), jobName)
    checkArgument('execute', 'options', CONFIGURATION, options)
    if (this.executor === undefined) {
      throw new WeirError(
        'ILLEGAL_STATE',
        'this environment has no executor: create it with { executor: new LocalExecutor() }, or pass graph() to a cluster',
      )
    }
    return await this.executor.execute(this.graph(jobName), options)
  }

  private start(jobName: string | undefined): StartedJob {
    checkArgument('executeAndCollect', 'jobName', optional(name), jobName)
    if (this.executor?.start !== undefined) return this.executor.start(this.graph(jobName), {})
    throw new WeirError(
      'ILLEGAL_STATE',
      'executeAndCollect needs an environment whose job runs in the calling thread: create it with a LocalExecutor, or write to a sink',
    )
  }
}

/** A policy that sends the records that fail to a sink. */
type DeadLetters = Extract<JobErrorPolicy, object>

const DEAD_LETTERS: OptionShape<DeadLetters> = {
  deadLetters: required(objectWith('a sink, such as new MemorySink()', 'createWriter')),
}

function requireDeadLetters(policy: unknown): void {
  if (typeof policy !== 'object' || policy === null) {
    refuseArgument('onError(...)', policy, "'fail', 'skip' or { deadLetters: sink }")
  }
  checkOptions('onError', DEAD_LETTERS, policy as DeadLetters)
}

/** Configuration keys, which the executor checks. */
const CONFIGURATION = recordOf<unknown>(anything())

interface SourceNodeOptions<T> extends SourceOptions<T> {
  readonly name: string
  readonly parallelism?: number
}

function sourceSpec<T>(
  source: Source<T>,
  watermarks: WatermarkStrategy<T>,
  { name: operator, serializer: records, parallelism, returnsThrough }: SourceNodeOptions<T>,
): NodeSpec {
  return {
    name: operator,
    inputs: 0,
    body: () => ({
      kind: 'source',
      source: source as Source<unknown>,
      watermarks: watermarks as WatermarkStrategy<unknown>,
      returnsThrough,
    }),
    makesWatermarks: makesWatermarks(watermarks),
    ...(records === undefined ? {} : { serializer: records as Serializer<unknown> }),
    ...(parallelism === undefined ? {} : { parallelism }),
  }
}
