import { EmbeddedLogProducer } from '../../src/connectors/log/producer.ts'
import { PartitionReader } from '../../src/connectors/log/storage/partition-reader.ts'
import { partitionPath } from '../../src/connectors/log/storage/topic-config.ts'
import { LocalLogWriter } from '../../src/connectors/log/writer/local-log-writer.ts'
import { REGISTRY_TOPIC } from '../../src/models/versions/model-registry.ts'
import { RecordBatchReader } from '../../src/wire/batch/record-batch-reader.ts'
import type { CrashingProcess } from './crashing-process.ts'
import { CrashingWorld } from './crashing-world.ts'
import { type Schedule, type ScheduleReport, settle } from './schedule.ts'

const DIRECTORY = '/log'
const COMMANDS = 8

/**
 * Runs commands of a model registry as `ModelRegistry` does: each takes over the transactional id,
 * writes the version and the model's record in one transaction to the compacted topic, and commits.
 * Invariants: the last acknowledged command is there, or a later one; both records are of one
 * command; no command appears that was not sent.
 */
export async function runRegistrySchedule(schedule: Schedule): Promise<ScheduleReport> {
  return await new RegistryWorld(schedule).run()
}

class RegistryWorld extends CrashingWorld {
  private sent = 0
  private acknowledged = 0

  run(): Promise<ScheduleReport> {
    return this.runLives({ first: COMMANDS, later: 3, last: 1, crashWithin: 200 })
  }

  protected override diesWithMachine(): boolean {
    return this.process.failedLast
  }

  protected async act(process: CrashingProcess, commands: number): Promise<void> {
    const writer = await LocalLogWriter.open(
      DIRECTORY,
      { files: process.files, clock: this.clock, cleanIntervalMs: 1e12, warn: () => {} },
      { announce: () => {}, close: () => {} },
    )
    await writer.createTopic(REGISTRY_TOPIC, {
      cleanupPolicy: 'compact',
      segmentBytes: 400,
      minCleanableRatio: 0.1,
    })
    await this.check(process)
    for (let i = 0; i < commands && process.alive; i++) {
      await this.execute(process, writer)
      if (this.work.below(3) === 0) await writer.clean()
      if (this.work.below(3) === 0) this.clock.advance(120)
      await settle()
      await this.check(process)
    }
    if (this.work.below(2) === 0) await writer.close()
  }

  private async execute(process: CrashingProcess, writer: LocalLogWriter): Promise<void> {
    const producer = new EmbeddedLogProducer(
      writer,
      { topic: REGISTRY_TOPIC, partitions: 1 },
      { clock: this.clock },
    )
    await producer.begin('weir/model-registry')
    const command = ++this.sent
    producer.send(Buffer.from('version'), Buffer.from(String(command)), 1)
    producer.send(Buffer.from('model'), Buffer.from(String(command)), 1)
    await producer.commit()
    if (process.alive) this.acknowledged = command
  }

  private async check(process: CrashingProcess): Promise<void> {
    const found = await this.read(process)
    if (!process.alive) return
    const version = found.get('version') ?? 0
    const model = found.get('model') ?? 0
    if (version !== model) this.violations.push(`version of command ${version}, model of ${model}`)
    if (model < this.acknowledged || model > this.sent) {
      this.violations.push(
        `the registry is at command ${model}; ${this.acknowledged} was acknowledged, ${this.sent} sent`,
      )
    }
  }

  private async read(process: CrashingProcess): Promise<Map<string, number>> {
    const path = partitionPath(DIRECTORY, REGISTRY_TOPIC, 0)
    const reader = new PartitionReader(path, { files: process.files })
    const records = new RecordBatchReader()
    const found = new Map<string, number>()
    for (let offset = reader.status().logStart; ; ) {
      const fetched = await reader.fetch(offset, new Uint8Array(4096))
      if (fetched === undefined) break
      for (let at = 0; at < fetched.end; ) {
        at = records.open(fetched.bytes, at, true)
        const hidden =
          records.isControl || fetched.aborted.contains(records.producerId, records.baseOffset)
        while (!hidden && records.next()) {
          found.set(text(records.key()), Number(text(records.value())))
        }
      }
      offset = fetched.nextOffset
    }
    reader.close()
    return found
  }
}

function text(bytes: Uint8Array | null): string {
  return bytes === null ? '' : Buffer.from(bytes).toString()
}
