import type { PartitionWriter } from '../storage/partition-writer.ts'

/** Partitions that are forced at the same time: Node.js has four threads for files, and one is left to others. */
const SYNCS_AT_A_TIME = 3

/** The writers of a log's partitions by name (`topic/number`), and the failures of each. */
export class OpenPartitions {
  /** Failures of partitions so far. */
  failures = 0
  private readonly openPartition: (name: string) => Promise<PartitionWriter>
  private readonly writers = new Map<string, Promise<PartitionWriter>>()
  /** Partitions that have failed, with the number of the last failure. */
  private readonly failed = new Map<string, number>()
  /** The last recovery, after which the next one begins. */
  private recovering: Promise<void> = Promise.resolve()

  /** `openPartition`: opens (and recovers) a partition. */
  constructor(openPartition: (name: string) => Promise<PartitionWriter>) {
    this.openPartition = openPartition
  }

  /** The writer of a partition, which is opened on first use. */
  get(name: string): Promise<PartitionWriter> {
    const known = this.writers.get(name)
    if (known !== undefined) return known
    const opening = this.openPartition(name)
    this.writers.set(name, opening)
    opening.catch(() => this.writers.delete(name))
    return opening
  }

  /** Closes a partition, if it is open. */
  async close(name: string): Promise<void> {
    const writer = this.writers.get(name)
    this.writers.delete(name)
    await (await writer)?.close()
  }

  /** Closes all partitions. */
  async closeAll(): Promise<void> {
    await this.recovering
    const opened = await Promise.allSettled(this.writers.values())
    this.writers.clear()
    const closing = opened.map((one) =>
      one.status === 'fulfilled' ? one.value.close() : Promise.resolve(),
    )
    const failure = (await Promise.allSettled(closing)).find((one) => one.status === 'rejected')
    if (failure !== undefined) throw failure.reason
  }

  /** Runs `work` for every open partition, also after it has failed for one; throws the first failure. */
  async runOnAll(work: (partition: PartitionWriter) => Promise<void>): Promise<void> {
    const failures: unknown[] = []
    for (const opening of [...this.writers.values()]) {
      await opening.then(work).catch((error: unknown) => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }

  /**
   * Forces the open partitions of a topic, some at a time: the disk then commits once for several of them. Resolves when all
   * are done, also after one has failed; throws the first failure.
   */
  async sync(topic: string): Promise<void> {
    const entries = this.writers.entries()
    const failures: unknown[] = []
    const syncSome = async (): Promise<void> => {
      // All take from the same entries.
      for (const [name, opening] of entries) {
        if (!name.startsWith(`${topic}/`)) continue
        await opening
          .then((partition) => partition.sync())
          .catch((error: unknown) => failures.push(error))
      }
    }
    await Promise.all(Array.from({ length: SYNCS_AT_A_TIME }, syncSome))
    if (failures.length > 0) throw failures[0]
  }

  /** Records that a partition has failed. */
  recordFailure(name: string): void {
    this.failures += 1
    this.failed.set(name, this.failures)
  }

  /** Whether the partition failed after the failure `since`. */
  failedAfter(name: string, since: number): boolean {
    return (this.failed.get(name) ?? 0) > since
  }

  /** A partition of the topic that failed after the failure `since`. */
  failedIn(topic: string, since: number): string | undefined {
    return [...this.failed.keys()].find(
      (name) => name.startsWith(`${topic}/`) && this.failedAfter(name, since),
    )
  }

  /**
   * Opens the partitions again that have failed, which recovers what the disk has kept. Those that the
   * disk still refuses stay failed. `reopened` runs after each.
   */
  recover(reopened: (name: string) => Promise<void>): Promise<void> {
    this.recovering = this.recovering.then(async () => {
      for (const name of this.failed.keys()) {
        await this.recoverOne(name, reopened).catch(() => undefined)
      }
    })
    return this.recovering
  }

  private async recoverOne(name: string, reopened: (name: string) => Promise<void>): Promise<void> {
    const opened = await this.writers.get(name)
    if (opened?.hasFailed === false) return
    await this.close(name)
    await this.get(name)
    await reopened(name)
  }
}

/** Topic and number of the partition `topic/number`. */
export function placeOf(name: string): [topic: string, partition: number] {
  const slash = name.lastIndexOf('/')
  return [name.slice(0, slash), Number(name.slice(slash + 1))]
}
