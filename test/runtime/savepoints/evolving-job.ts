import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import type { Serializer } from '../../../src/core/serializer.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import type { KeyedStream } from '../../../src/dataflow/keyed-stream.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { monotonousTimestamps } from '../../../src/dataflow/watermark-strategy.ts'
import type { Collector, KeyedStateAccess } from '../../../src/operators/process/function.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'

/** A word of the tests, at a time in ms. */
export interface Word {
  readonly word: string
  readonly at: number
}

/** A version of a job: what it makes of a stream of words. */
export type Version = (words: DataStream<Word>) => DataStream<string>

/** What a version does with state of one key. */
export interface KeyedVersion {
  open(context: KeyedStateAccess): (word: Word, out: Collector<string>) => void
  /** @default the word */
  readonly keyBy?: (word: Word) => unknown
  readonly keys?: Serializer<never>
}

/** A version that keeps state by word. */
export function keyedVersion({ open, keyBy, keys }: KeyedVersion): Version {
  return (words) => {
    const by = keyBy ?? (({ word }: Word) => word)
    const keyed = words.keyBy(by as never, keys as never) as KeyedStream<unknown, Word>
    return keyed
      .process<string>(() => {
        let process: (word: Word, out: Collector<string>) => void
        return {
          open(context) {
            process = open(context)
          },
          processElement: (word, _context, out) => process(word, out),
        }
      })
      .uid('state')
  }
}

/** Runs of the versions of one job, each from the savepoint of the one before. */
export class EvolvingJob {
  private readonly checkpoints: string
  private readonly words: Word[] = []
  private savepoint: string | undefined
  /** Words of the last run. */
  private added = 0

  constructor(checkpoints: string) {
    this.checkpoints = checkpoints
  }

  /** Path of the last savepoint. */
  get path(): string {
    return this.savepoint!
  }

  /** Lets the next run begin at another savepoint. */
  restoreFrom(path: string): void {
    this.savepoint = path
  }

  /**
   * Goes on with a version and further words until `results` results came, stops it with a savepoint, and returns
   * them in order. Rejects with the failure of the job.
   */
  async run(
    version: Version,
    words: readonly (string | Word)[],
    { results = words.length, options = {} }: RunOptions = {},
  ): Promise<string[]> {
    this.words.push(...words.map((word) => (typeof word === 'string' ? { word, at: 5 } : word)))
    this.added = words.length
    return await this.repeat(version, { results, options })
  }

  /** As `run`, of the same words, after a run that was refused. */
  async repeat(version: Version, { results = 0, options = {} }: RunOptions): Promise<string[]> {
    await using cluster = new MiniCluster()
    const sink = new MemorySink<string>()
    const env = new StreamExecutionEnvironment({ parallelism: 1, maxParallelism: 8 })
    const source = new MemorySource<Word>([[...this.words]], {
      bounded: false,
      timestampOf: ({ at }) => at,
    })
    let seen = 0
    const read = env.fromSource(source, monotonousTimestamps<Word>()).uid('words')
    const counted = read.map((word) => {
      seen += 1
      return word
    })
    version(counted.uid('seen')).sinkTo(sink).uid('sink')
    const job = cluster.startLocal(env.graph('evolving'), {
      configuration: {
        'execution.checkpointing.dir': this.checkpoints,
        'restart-strategy.type': 'none',
        ...options,
      },
      restoreFrom: this.savepoint,
    })
    await Promise.race([job.result, job.waitFor('RUNNING')])
    const failed = job.result.then(() => undefined)
    failed.catch(() => undefined)
    await Promise.race([
      failed,
      until(
        'all words were read, and all results came',
        () => seen >= this.added && sink.values.length >= results,
      ),
    ])
    this.savepoint = `${this.checkpoints}/${await job.stopWithSavepoint()}`
    return [...sink.values].sort()
  }
}

/** Options of a run. */
export interface RunOptions {
  /** @default one for each word */
  readonly results?: number
  readonly options?: Readonly<Record<string, string>>
}
