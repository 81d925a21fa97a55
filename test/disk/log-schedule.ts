import { readIdentity } from '../../src/connectors/log/storage/partition-identity.ts'
import { PartitionReader } from '../../src/connectors/log/storage/partition-reader.ts'
import { partitionPath } from '../../src/connectors/log/storage/topic-config.ts'
import { LocalLogWriter } from '../../src/connectors/log/writer/local-log-writer.ts'
import type { ProducerIdentity } from '../../src/connectors/transactions/producer-identity.ts'
import { isWeirError, messageOf } from '../../src/core/errors.ts'
import { RecordBatchReader } from '../../src/wire/batch/record-batch-reader.ts'
import { RecordBatchWriter } from '../../src/wire/batch/record-batch-writer.ts'
import type { CrashingProcess } from './crashing-process.ts'
import { CrashingWorld } from './crashing-world.ts'
import { LogLedger, type SentRecord } from './log-ledger.ts'
import { type Schedule, type ScheduleReport, settle } from './schedule.ts'

const DIRECTORY = '/log'
const STEPS = 14
const KEYS = 5

/** The topics of the simulated log; small segments, so that it rolls, retains and compacts. */
const TOPICS = {
  plain: { partitions: 2, segmentBytes: 500 },
  retained: { partitions: 1, segmentBytes: 300, retentionBytes: 900 },
  compacted: {
    partitions: 1,
    segmentBytes: 400,
    cleanupPolicy: 'compact',
    minCleanableRatio: 0.1,
  },
} as const

type TopicName = keyof typeof TOPICS

/**
 * Runs the writer of an embedded log on a simulated disk, through crashes and restarts. Invariants:
 * the log opens again; every record that was acknowledged as durable is at its offset, unless retention
 * or compaction may remove it; nothing appears that was never sent, or twice; a prepared transaction
 * can be committed; only records of committed transactions are visible; what was erased stays away; a created topic is there, and its partitions
 * know their place.
 */
export async function runLogSchedule(schedule: Schedule): Promise<ScheduleReport> {
  return await new LogWorld(schedule).run()
}

class LogWorld extends CrashingWorld {
  private readonly everyBatch: boolean
  private readonly ledger: LogLedger
  private readonly topics = new Set<TopicName>()
  private readonly prepared: { producer: ProducerIdentity; records: readonly SentRecord[] }[] = []
  private transactions = 0

  constructor(schedule: Schedule, ledger = new LogLedger()) {
    super(schedule, ledger.violations)
    this.ledger = ledger
    this.everyBatch = schedule.seed % 2 === 0
  }

  run(): Promise<ScheduleReport> {
    return this.runLives({ first: STEPS, later: 6, last: 2, crashWithin: 200 })
  }

  protected override end(): void {
    super.end()
    this.ledger.crashed()
  }

  /** A process that dies right after a failed sync cannot mark its folder; its machine dies with it. */
  protected override diesWithMachine(): boolean {
    return this.process.failedLast
  }

  protected override isExpected(error: unknown): boolean {
    return this.schedule.faultRate > 0 && /EIO|ENOSPC/.test(messageOf(error))
  }

  protected async act(process: CrashingProcess, steps: number): Promise<void> {
    const writer = await LocalLogWriter.open(
      DIRECTORY,
      {
        files: process.files,
        clock: this.clock,
        fsync: this.everyBatch ? 'every-batch' : { intervalMs: 100 },
        cleanIntervalMs: 1e12,
        warn: () => {},
      },
      { announce: () => {}, close: () => {} },
    )
    for (const topic of this.topics) await this.check(process, topic)
    await this.commitPrepared(process, writer)
    for (const topic of this.topics) await this.check(process, topic)
    for (let step = 0; step < steps && process.alive; step++) {
      await this.step(process, writer).catch((error: unknown) => {
        if (!this.isExpected(error) || !isWeirError(error)) throw error
      })
      await settle()
    }
    for (const topic of this.topics) await this.check(process, topic)
    if (this.work.below(2) === 0) await writer.close()
  }

  private async step(process: CrashingProcess, writer: LocalLogWriter): Promise<void> {
    const dice = this.work.below(20)
    const topics = [...this.topics]
    if (topics.length < 3 && (dice < 4 || topics.length === 0)) {
      const name = (Object.keys(TOPICS) as TopicName[])[topics.length]!
      await writer.createTopic(name, TOPICS[name])
      if (process.alive) this.topics.add(name)
      return
    }
    const topic = topics[this.work.below(topics.length)]!
    if (dice < 12) await this.append(process, writer, topic)
    else if (dice < 16) await this.transact(process, writer, topic)
    else if (dice < 18) await writer.clean()
    else if (dice < 19) await this.erase(process, writer, topic)
    else this.clock.advance(120)
  }

  /** Erases all records of a key in a partition; refused behind the start of an open transaction. */
  private async erase(
    process: CrashingProcess,
    writer: LocalLogWriter,
    topic: TopicName,
  ): Promise<void> {
    const partition = this.work.below(TOPICS[topic].partitions)
    const records = this.ledger.ofKey(topic, partition, `k${this.work.below(KEYS)}`)
    const before = records.map(({ erased }) => erased)
    this.ledger.erase(records, 'either')
    try {
      await writer.eraseRecords(
        topic,
        partition,
        records.map(({ offset }) => offset!),
      )
    } catch (error) {
      if (!isWeirError(error, 'ILLEGAL_STATE')) throw error
      for (const [i, record] of records.entries()) this.ledger.erase([record], before[i]!)
      return
    }
    if (process.alive) this.ledger.erase(records, 'yes')
  }

  /** Appends some batches at once, and forces them now and then. */
  private async append(
    process: CrashingProcess,
    writer: LocalLogWriter,
    topic: TopicName,
  ): Promise<void> {
    const appends = Array.from({ length: 1 + this.work.below(4) }, () => this.send(writer, topic))
    const sent = (await Promise.all(appends)).flat()
    if (!process.alive) return
    if (this.everyBatch) this.ledger.durable(sent)
    else if (this.work.below(2) === 0) {
      await writer.sync(topic)
      if (process.alive) this.ledger.durable(sent)
    }
  }

  /** Appends one batch; the records get their offsets when it is acknowledged. */
  private async send(
    writer: LocalLogWriter,
    topic: TopicName,
    producer?: ProducerIdentity,
  ): Promise<SentRecord[]> {
    const partition = this.work.below(TOPICS[topic].partitions)
    const batch = new RecordBatchWriter(256)
    const records: SentRecord[] = []
    for (let i = this.work.below(3); i >= 0; i--) {
      const record = this.ledger.send({
        topic,
        partition,
        key: `k${this.work.below(KEYS)}`,
        transactional: producer !== undefined,
      })
      records.push(record)
      batch.append(Buffer.from(record.key), Buffer.from(String(record.id)), 1000)
    }
    const bytes =
      producer === undefined
        ? batch.take()
        : batch.take({
            transactional: true,
            producerId: producer.producerId,
            producerEpoch: producer.epoch,
          })
    const base = await writer.append(topic, partition, bytes, producer?.transactionalId)
    for (const [i, record] of records.entries()) record.offset = base + i
    return records
  }

  private async transact(
    process: CrashingProcess,
    writer: LocalLogWriter,
    topic: TopicName,
  ): Promise<void> {
    const id = `tx-${this.transactions++ % 2}`
    // The new producer of the id aborts what was prepared under it.
    // A commit that was asked for and failed may have been decided.
    const fenced = this.prepared.filter((other) => other.producer.transactionalId === id)
    const undecided = fenced.filter(({ records }) => records[0]?.outcome === 'open')
    for (const other of fenced) {
      this.ledger.decide(other.records, 'either')
      this.prepared.splice(this.prepared.indexOf(other), 1)
    }
    const producer = await writer.initProducer(id)
    if (!process.alive) return
    for (const other of undecided) this.ledger.decide(other.records, 'aborted')
    const records: SentRecord[] = []
    for (let i = this.work.below(3); i >= 0; i--) {
      records.push(...(await this.send(writer, topic, producer)))
    }
    if (this.work.below(4) === 0) {
      this.ledger.decide(records, 'either')
      await writer.endTransaction(producer, false)
      if (process.alive) this.ledger.decide(records, 'aborted')
      return
    }
    await writer.sync(topic)
    if (!process.alive) return
    this.ledger.durable(records)
    this.prepared.push({ producer, records })
    if (this.work.below(2) === 0) await this.commitPrepared(process, writer)
  }

  private async commitPrepared(process: CrashingProcess, writer: LocalLogWriter): Promise<void> {
    while (this.prepared.length > 0) {
      const { producer, records } = this.prepared[0]!
      this.ledger.decide(records, 'either')
      await writer.endTransaction(producer, true)
      if (!process.alive) return
      this.ledger.decide(records, 'committed')
      this.prepared.shift()
    }
  }

  private async check(process: CrashingProcess, topic: TopicName): Promise<void> {
    for (let partition = 0; partition < TOPICS[topic].partitions; partition++) {
      const committed = await this.readAll(process, topic, partition, 'read_committed')
      const all = await this.readAll(process, topic, partition, 'read_uncommitted')
      if (!process.alive) return
      this.checkPlace(process, topic, partition)
      this.ledger.check(topic, partition, { committed, all, compacted: topic === 'compacted' })
    }
  }

  /** A reader refuses a wrong place; one that is not known is left only by a full disk. */
  private checkPlace({ files }: CrashingProcess, topic: TopicName, partition: number): void {
    const found = readIdentity(files, partitionPath(DIRECTORY, topic, partition))
    if (found === undefined && this.schedule.faultRate > 0) return
    if (found?.topic === topic && found.partition === partition) return
    this.ledger.violations.push(`${topic}/${partition} does not know its place`)
  }

  private async readAll(
    process: CrashingProcess,
    topic: TopicName,
    partition: number,
    isolation: 'read_committed' | 'read_uncommitted',
  ): Promise<{ start: number; end: number; ids: Map<number, number> }> {
    const path = partitionPath(DIRECTORY, topic, partition)
    const reader = new PartitionReader(path, { isolation, files: process.files })
    const records = new RecordBatchReader()
    const ids = new Map<number, number>()
    const { logStart } = reader.status()
    const end = reader.limit()
    for (let offset = logStart; ; ) {
      const fetched = await reader.fetch(offset, new Uint8Array(4096))
      if (fetched === undefined) break
      for (let at = 0; at < fetched.end; ) {
        at = records.open(fetched.bytes, at, true)
        const hidden =
          records.isControl ||
          (isolation === 'read_committed' &&
            records.isTransactional &&
            fetched.aborted.contains(records.producerId, records.baseOffset))
        while (!hidden && records.next()) {
          ids.set(records.offset, Number(Buffer.from(records.value()!).toString()))
        }
      }
      offset = fetched.nextOffset
    }
    reader.close()
    return { start: logStart, end, ids }
  }
}
