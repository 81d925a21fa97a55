import { randomBytes } from 'node:crypto'
import { noticeFrom } from '../../core/lifetime/wait.ts'
import { anything, kindOf, type OptionKind, recordOf } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { type Random, seededRandom } from '../../core/random.ts'
import type {
  ExecuteOptions,
  JobExecutor,
  JobResult,
  StartedJob,
  StreamGraph,
} from '../../dataflow/stream-graph.ts'
import { openStorage } from '../checkpoint/storage/open.ts'
import type { ConfigurationMap } from '../configuration/keys.ts'
import { LocalSlot } from '../slot/local-slot.ts'
import { JobExecution } from './execution.ts'
import { type RunOptions, resolveRunOptions } from './run-options.ts'

/** Options of a job that runs in the calling thread. */
export interface LocalJobOptions extends RunOptions {
  readonly graph: StreamGraph
  /** @default one with a random seed */
  readonly random?: Random
}

/** Prepares a job whose slots all run in the calling thread, so that its graph may hold closures. */
export function createLocalJob(options: LocalJobOptions): JobExecution {
  const { graph, random = seededRandom(randomBytes(4).readUInt32LE()) } = options
  const run = resolveRunOptions(options)
  const { clock, storageUrl } = run
  const job: JobExecution = new JobExecution({
    ...run,
    graph,
    random,
    startSlot: (slot, listener) =>
      new LocalSlot(slot, { clock, openStorage, buildGraph: () => graph }, listener),
    storage:
      storageUrl === undefined
        ? undefined
        : openStorage(storageUrl, (notice) => job.warned(noticeFrom('checkpoints', notice, {}))),
  })
  return job
}

const VALUES = recordOf<unknown>(anything())
export const GRAPH: OptionKind<StreamGraph> = kindOf(
  'the graph of an environment: env.graph()',
  (given) => Array.isArray((given as Partial<StreamGraph> | null)?.nodes),
)

/** The executor behind `env.execute()`: runs the graph in the calling thread until it has finished. */
export class LocalExecutor implements JobExecutor {
  private readonly configuration: ConfigurationMap

  constructor(configuration: ConfigurationMap = { 'state.backend.type': 'heap' }) {
    checkArgument('new LocalExecutor', 'configuration', VALUES, configuration)
    this.configuration = configuration
  }

  /** `options` are configuration keys, which override those of the executor. */
  async execute(graph: StreamGraph, options: ExecuteOptions): Promise<JobResult> {
    return await this.start(graph, options).result
  }

  /** As `execute`, without waiting for the end. */
  start(graph: StreamGraph, options: ExecuteOptions): StartedJob {
    checkArgument('executor.start', 'graph', GRAPH, graph)
    checkArgument('executor.start', 'options', VALUES, options)
    const overrides = Object.entries(options).map(([key, value]) => [key, String(value)])
    const configuration = { ...this.configuration, ...Object.fromEntries(overrides) }
    const job = createLocalJob({ graph, configuration })
    // A program that only waits for its result has no other place where they are seen.
    job.onWarning(({ error }) => process.emitWarning(error.message, { code: `WEIR_${error.code}` }))
    job.start()
    return job
  }
}
