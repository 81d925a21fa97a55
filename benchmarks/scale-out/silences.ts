import { KafkaSource } from '../../src/connectors/kafka/source.ts'
import { ByteWriter } from '../../src/core/byte-writer.ts'
import { systemClock } from '../../src/core/clock.ts'
import { keyGroupOf, subtaskOfKeyGroup } from '../../src/core/key-group.ts'
import { MetricGroup } from '../../src/core/metrics.ts'
import { float64Serializer } from '../../src/core/serializer.ts'
import type { SourceReader } from '../../src/operators/port/source.ts'

/** How keys are divided among job partitions. */
export interface KeyDivision {
  readonly partitions: number
  readonly maxParallelism: number
}

/** Key groups of numeric keys, by job partition. */
function partitionOf(key: number, { partitions, maxParallelism }: KeyDivision): number {
  const writer = new ByteWriter(8)
  float64Serializer.write(key, writer)
  const group = keyGroupOf(writer.bytes.subarray(0, writer.length), maxParallelism)
  return subtaskOfKeyGroup(group, partitions, maxParallelism)
}

/** The times without a visible result of each job partition, as a reader of committed records sees them. */
export class Silences {
  /** Results so far. */
  seen = 0
  private readonly division: KeyDivision
  private readonly last: number[]
  private readonly longest: number[]
  private readonly sinceReset: number[]
  private isOver = false
  private reading: Promise<void> = Promise.resolve()

  constructor(division: KeyDivision) {
    this.division = division
    const none = (): number[] => new Array<number>(division.partitions).fill(0)
    ;[this.last, this.longest, this.sinceReset] = [none(), none(), none()]
  }

  /** Starts to read a topic with keys. */
  async start(brokers: string, topic: string): Promise<void> {
    const source = KafkaSource.raw({ brokers, topic })
    const reader = source.createReader()
    const where = { subtask: 0, parallelism: 1 }
    await reader.open({ ...where, clock: systemClock, metrics: new MetricGroup() })
    const partitions = await source.discover()
    await reader.addSplits(partitions.map((partition) => ({ partition, nextOffset: -1 })))
    this.reading = this.read(reader)
    this.reading.catch(() => undefined)
  }

  /** Measures from now on. */
  reset(): void {
    const nowMs = performance.now()
    this.last.fill(nowMs)
    this.longest.fill(0)
    this.sinceReset.fill(0)
  }

  /** Least number of results of a job partition since the last reset. */
  get least(): number {
    return Math.min(...this.sinceReset)
  }

  /** The longest silence of one of these job partitions since the last reset, s. */
  longestOf(partitions: readonly number[]): number {
    const nowMs = performance.now()
    const all = partitions.map((p) => Math.max(this.longest[p]!, nowMs - this.last[p]!))
    return Math.max(...all) / 1_000
  }

  async stop(): Promise<void> {
    this.isOver = true
    await this.reading
  }

  private async read(reader: SourceReader<{ readonly value: Uint8Array | null }>): Promise<void> {
    const output = {
      collect: ({ value }: { readonly value: Uint8Array | null }) =>
        this.take(Number(Buffer.from(value!).toString('latin1'))),
      progress: () => undefined,
    }
    while (!this.isOver) {
      if (reader.poll(output, 1_000) === 'more') continue
      await Promise.race([reader.available(), new Promise((go) => setTimeout(go, 100))])
    }
    await reader.close()
  }

  private take(key: number): void {
    const partition = partitionOf(key, this.division)
    const nowMs = performance.now()
    this.seen += 1
    this.sinceReset[partition]! += 1
    this.longest[partition] = Math.max(this.longest[partition]!, nowMs - this.last[partition]!)
    this.last[partition] = nowMs
  }
}
