import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { LogSource } from '../../../src/connectors/log/source.ts'
import type { RawLogSourceOptions } from '../../../src/connectors/log/source-options.ts'
import type { LogOptions } from '../../../src/connectors/log/writer/log-options.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import type { SourceReader, SourceReaderContext } from '../../../src/operators/port/source.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export const bytes = (text: string): Uint8Array => encoder.encode(text)
export const text = (value: Uint8Array | null | undefined): string =>
  value === null || value === undefined ? 'null' : decoder.decode(value)

/** A folder that is removed when the test ends. */
export function temporaryFolder(): string {
  const folder = fs.mkdtempSync(join(tmpdir(), 'weir-log-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A log that is closed when the test ends. */
export async function openLog(folder: string, options: LogOptions = {}): Promise<EmbeddedLog> {
  const log = await EmbeddedLog.open(folder, { fsync: 'none', ...options })
  onTestFinished(() => log.close())
  return log
}

export const readerContext = (): SourceReaderContext => ({
  subtask: 0,
  parallelism: 1,
  clock: systemClock,
  metrics: new MetricGroup(),
})

/** Polls until the reader has ended, or has delivered `count` records. */
export async function drain<T>(
  reader: SourceReader<T>,
  count = Number.POSITIVE_INFINITY,
  maxPerPoll = 7,
): Promise<T[]> {
  const values: T[] = []
  const output = { collect: (value: T) => void values.push(value), progress: () => undefined }
  while (values.length < count) {
    const result = reader.poll(output, maxPerPoll)
    if (result === 'ended') break
    if (result === 'idle' && values.length < count) await reader.available()
  }
  return values
}

/** All visible records of the topic, as `partition:offset key=value`. */
export async function readAll(options: RawLogSourceOptions): Promise<string[]> {
  const source = LogSource.raw({ ...options, bounded: true })
  const reader = source.createReader()
  await reader.open(readerContext())
  await reader.addSplits(
    (await source.discover()).map((partition) => ({ partition, nextOffset: -1 })),
  )
  const records = await drain(reader)
  await reader.close()
  return records.map((r) => `${r.partition}:${r.offset} ${text(r.key)}=${text(r.value)}`)
}
