import { WeirError } from '../core/errors.ts'
import type { Serializer } from '../core/serializer.ts'
import type { Source } from '../operators/source.ts'
import { buildGraph } from './build-graph.ts'
import { DataStream } from './data-stream.ts'
import { ElementsSource } from './elements-source.ts'
import { GraphDraft } from './graph-draft.ts'
import type { ExecuteOptions, JobExecutor, JobResult } from './job-executor.ts'
import type { StreamGraph } from './stream-graph.ts'
import { type GraphIssue, refuseErrors, validateDraft } from './validate-graph.ts'
import { noWatermarks, type WatermarkStrategy } from './watermark-strategy.ts'

/** Options of an environment. */
export interface EnvironmentOptions {
  /** Parallelism of operators that set none. @default 1 */
  readonly parallelism?: number
  /** Max parallelism of operators that set none. @default from the parallelism, as Flink */
  readonly maxParallelism?: number
  /** @default 'job' */
  readonly jobName?: string
  /** What `execute` hands the graph to. */
  readonly executor?: JobExecutor
}

/** Options of a source. */
export interface SourceOptions<T> {
  /** Encodes the records where they cross slots. @default MessagePack */
  readonly serializer?: Serializer<T>
}

/** Where a job begins: makes the source streams, and from what follows them the graph. */
export class StreamExecutionEnvironment {
  private readonly draft = new GraphDraft()
  private readonly executor: JobExecutor | undefined
  private jobName: string

  constructor(options: EnvironmentOptions = {}) {
    this.executor = options.executor
    this.jobName = options.jobName ?? 'job'
    this.draft.defaultParallelism = options.parallelism ?? 1
    this.draft.defaultMaxParallelism = options.maxParallelism
  }

  /** Parallelism of operators that set none. */
  setParallelism(parallelism: number): this {
    this.draft.defaultParallelism = parallelism
    return this
  }

  /** Number of key groups of operators that set none; state is bound to it for ever. */
  setMaxParallelism(maxParallelism: number): this {
    this.draft.defaultMaxParallelism = maxParallelism
    return this
  }

  setJobName(jobName: string): this {
    this.jobName = jobName
    return this
  }

  /** A stream of what the source reads. */
  fromSource<T>(
    source: Source<T>,
    watermarks: WatermarkStrategy<T> = noWatermarks(),
    name = 'Source',
    options: SourceOptions<T> = {},
  ): DataStream<T> {
    return this.addSource(source, watermarks, name, options, undefined)
  }

  /** A bounded stream of the given elements, read by one subtask; for tests and examples. */
  fromElements<T>(
    elements: readonly T[],
    watermarks: WatermarkStrategy<T> = noWatermarks(),
  ): DataStream<T> {
    return this.addSource(new ElementsSource(elements), watermarks, 'Elements', {}, 1)
  }

  /** Everything that is wrong or doubtful with the graph so far. */
  validate(): GraphIssue[] {
    return validateDraft(this.draft)
  }

  /** The graph. Throws INVALID_GRAPH with one sentence per broken rule. */
  graph(jobName: string = this.jobName): StreamGraph {
    refuseErrors(this.validate())
    return buildGraph(this.draft, jobName)
  }

  /** Runs the graph with the environment's executor. Throws ILLEGAL_STATE when it has none. */
  async execute(jobName?: string, options: ExecuteOptions = {}): Promise<JobResult> {
    if (this.executor === undefined) {
      throw new WeirError(
        'ILLEGAL_STATE',
        'this environment has no executor: make it with one, or hand graph() to a cluster',
      )
    }
    return await this.executor.execute(this.graph(jobName), options)
  }

  private addSource<T>(
    source: Source<T>,
    watermarks: WatermarkStrategy<T>,
    name: string,
    options: SourceOptions<T>,
    parallelism: number | undefined,
  ): DataStream<T> {
    const node = this.draft.addNode(
      {
        name,
        inputs: 0,
        body: () => ({
          kind: 'source',
          source: source as Source<unknown>,
          watermarks: watermarks as WatermarkStrategy<unknown>,
        }),
        makesWatermarks: watermarks.outOfOrdernessMs !== undefined,
        ...(options.serializer === undefined
          ? {}
          : { serializer: options.serializer as Serializer<unknown> }),
        ...(parallelism === undefined ? {} : { parallelism }),
      },
      [],
    )
    return new DataStream<T>(this.draft, [{ node, tag: undefined, partitioning: undefined }])
  }
}
