import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { KafkaCluster } from '../../src/connectors/kafka/client/cluster.ts'
import { createKafkaTopic } from '../../src/connectors/kafka/client/topics.ts'
import { KafkaProducer } from '../../src/connectors/kafka/producer.ts'
import { setup as buildModules } from '../../test/built-package.ts'
import { until } from '../../test/run/until.ts'
import { KafkaBroker } from '../../test/services/kafka/broker.ts'
import { JobMember, type ScaledJob } from '../../test/system/scale-out/fixture.ts'
import type { Benchmark, BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import { median } from '../load/statistics.ts'
import { Silences } from './silences.ts'

const KEYS = 200_000
const RECORDS_PER_SECOND = 1_000
const PROCESSES = 3
const DIVISION = { partitions: 8, maxParallelism: 128 }
const SESSION_MS = 6_000
const ROUNDS = 3
/** Results of each job partition after which a handover is over. */
const RESULTS_AFTER = 300
const TOPICS = { input: 'keys', output: 'counted' } as const

const encoder = new TextEncoder()
const ALL = Array.from({ length: DIVISION.partitions }, (_, partition) => partition)

/** Longest silences of one handover, s. */
interface Handover {
  readonly moved: number
  readonly others: number
}

/** The job in three processes, with a load. */
class HandoverBench implements AsyncDisposable {
  readonly silences = new Silences(DIVISION)
  private readonly job: ScaledJob
  private readonly keys: number
  private readonly cluster: KafkaCluster
  private readonly members: JobMember[] = []
  private loading: Promise<void> = Promise.resolve()
  private isOver = false

  constructor(broker: KafkaBroker, { scratch, scale }: BenchmarkOptions) {
    const brokers = broker.bootstrap
    this.keys = Math.round(KEYS * scale)
    this.cluster = new KafkaCluster({ brokers })
    this.job = {
      ...{ brokers, applicationId: 'handover', partitions: DIVISION.partitions },
      module: join(import.meta.dirname, 'padded-counts.ts'),
      options: { brokers, ...TOPICS },
      folder: scratch,
      settings: {
        'pipeline.max-parallelism': String(DIVISION.maxParallelism),
        'session.timeout.ms': `${SESSION_MS} ms`,
        'execution.checkpointing.interval': '100 ms',
      },
    }
  }

  /** Starts processes, and counts each key once. */
  async begin(): Promise<void> {
    const { cluster, job, silences } = this
    for (const name of Object.values(TOPICS)) {
      await createKafkaTopic(cluster, { name, partitions: DIVISION.partitions })
    }
    for (let i = 0; i < PROCESSES; i++) this.members.push(new JobMember(job))
    await silences.start(job.brokers, TOPICS.output)
    await this.untilShared()
    this.loading = this.load()
    this.loading.catch(() => undefined)
    await until('each key is counted', () => silences.seen >= this.keys, { timeoutMs: 600_000 })
  }

  /** Ends the process with the first job partition, measures, and starts another one. */
  async handOver(end: (member: JobMember) => Promise<unknown>): Promise<Handover> {
    const { members, silences } = this
    const index = members.findIndex(({ running }) => running.includes(0))
    const member = members[index]!
    const moved = member.running
    silences.reset()
    await end(member)
    await until('all partitions have gone on', () => silences.least >= RESULTS_AFTER)
    const measured = {
      moved: silences.longestOf(moved),
      others: silences.longestOf(ALL.filter((partition) => !moved.includes(partition))),
    }
    members[index] = new JobMember(this.job)
    await this.untilShared()
    return measured
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isOver = true
    await this.loading.catch(() => undefined)
    await this.silences.stop().catch(() => undefined)
    await Promise.all(this.members.map((member) => member[Symbol.asyncDispose]()))
    await this.cluster.close()
  }

  /** Resolves when the processes share all job partitions evenly. */
  private async untilShared(): Promise<void> {
    const least = Math.floor(DIVISION.partitions / PROCESSES)
    await until(
      () => `the partitions are shared:\n${this.members.map(({ printed }) => printed).join('\n')}`,
      () => {
        const shares = this.members.map(({ running }) => running)
        const all = new Set(shares.flat())
        return all.size === ALL.length && shares.every(({ length }) => length >= least)
      },
    )
  }

  /** Each key once as fast as it goes, then keys in turn at the rate. */
  private async load(): Promise<void> {
    const producer = await KafkaProducer.open(this.cluster, TOPICS.input)
    const send = (index: number): void => {
      const key = index % this.keys
      producer.sendRecord(null, encoder.encode(String(key)), 0, index % DIVISION.partitions, [])
    }
    let sent = 0
    for (; sent < this.keys; sent++) {
      send(sent)
      if (!producer.ready()) await producer.whenReady()
    }
    const sinceMs = performance.now()
    while (!this.isOver) {
      const due = this.keys + ((performance.now() - sinceMs) / 1_000) * RECORDS_PER_SECOND
      for (; sent < due; sent++) send(sent)
      await pause(5)
    }
    await producer.flush()
    producer.close()
  }
}

async function measure(options: BenchmarkOptions): Promise<readonly Figure[]> {
  await using broker = await KafkaBroker.start()
  await using bench = new HandoverBench(broker, options)
  await bench.begin()
  const kills: Handover[] = []
  const leaves: Handover[] = []
  for (let round = 0; round < ROUNDS; round++) {
    kills.push(await bench.handOver((member) => member.kill()))
    leaves.push(await bench.handOver((member) => member.leave()))
    options.say(`round ${round}: ${JSON.stringify({ kill: kills.at(-1), leave: leaves.at(-1) })}`)
  }
  const worst = (all: readonly Handover[], which: keyof Handover, name: string): Figure => {
    const values = all.map((one) => one[which])
    const details = {
      median: median(values),
      rounds: ROUNDS,
      keys: Math.round(KEYS * options.scale),
    }
    return { name, value: Math.max(...values), unit: 's', higher: false, details }
  }
  return [
    { ...worst(kills, 'moved', 'scale-out-handover-kill-moved'), target: 2 },
    { ...worst(kills, 'others', 'scale-out-handover-kill-others'), target: 2 },
    { ...worst(leaves, 'moved', 'scale-out-handover-leave-moved'), target: 0.5 },
    worst(leaves, 'others', 'scale-out-handover-leave-others'),
  ]
}

/** `scale-out-handover`: silence of a job in three processes when one of them is killed or ends. */
export const scaleOutHandoverBenchmark: Benchmark = {
  name: 'scale-out-handover',
  summary:
    'a job with an exchange in three processes, of which one is killed or ends: longest silence',
  async run(options) {
    await options.workspace.stopServing()
    const end = await buildModules()
    try {
      return await measure(options)
    } finally {
      end?.()
    }
  },
}
