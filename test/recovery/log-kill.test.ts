import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'
import { serveLogsToThreads } from '../../src/connectors/log/writer/connect.ts'
import { seededRandom } from '../../src/core/random.ts'
import { RecordBatchReader } from '../../src/wire/batch/record-batch-reader.ts'
import { campaignSize } from '../run/campaign-size.ts'
import { pause } from '../run/pause.ts'
import { BUILT_MODULES_FLAG } from '../run/setup/built-modules.ts'
import { until } from '../run/until.ts'
import { commitSeed } from '../services/commit-seed.ts'

const root = fs.mkdtempSync(join(tmpdir(), 'weir-kill-'))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

const WRITER = join(import.meta.dirname, 'log-writer.process.ts')

/** Runs the writer for some time after its first acknowledgement. Returns the last acknowledgement. */
async function writeAndKill(directory: string, forMs: number): Promise<number> {
  const child = spawn(process.execPath, [BUILT_MODULES_FLAG, WRITER, directory, 't', '50'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let acknowledged = 0
  child.stdout.on('data', (chunk: Buffer) => {
    const lines = String(chunk).split('\n')
    acknowledged = Number(lines.at(-2) ?? acknowledged)
  })
  await once(child.stdout, 'data')
  await pause(forMs, 'a random moment of a kill')
  child.kill('SIGKILL')
  await once(child, 'close')
  return acknowledged
}

/** Reads the whole partition. Fails unless the values are 0, 1, 2 ... without a gap. */
async function countInOrder(log: EmbeddedLog, topic: string): Promise<number> {
  const reader = log.reader(topic, 0)
  const records = new RecordBatchReader()
  let count = 0
  for (let offset = 0; ; ) {
    const fetched = await reader.fetch(offset, new Uint8Array(100_000))
    if (fetched === undefined) break
    for (let at = 0; at < fetched.end; ) {
      at = records.open(fetched.bytes, at)
      while (records.next()) {
        const value = Number(new TextDecoder().decode(records.value()!))
        if (value !== count || records.offset !== count) expect.fail(`${value} at ${count}`)
        count += 1
      }
    }
    offset = fetched.nextOffset
  }
  reader.close()
  return count
}

describe('a log whose process is killed with SIGKILL', () => {
  it('keeps every acknowledged record and no incomplete batch, kill after kill', async () => {
    const seed = commitSeed()
    const random = seededRandom(seed)
    const directory = join(root, 'process')
    for (let round = 0; round < campaignSize(4, 10); round++) {
      const acknowledged = await writeAndKill(directory, random.below(120))
      const log = await EmbeddedLog.open(directory)
      const count = await countInOrder(log, 't')
      await log.close()
      expect(count, `WEIR_SEED=${seed}`).toBeGreaterThanOrEqual(acknowledged)
      expect(count % 50, `WEIR_SEED=${seed}`).toBe(0)
    }
  })
})

describe('a log that worker threads write through their main thread', () => {
  it('continues when one of them is terminated', async () => {
    serveLogsToThreads()
    const directory = join(root, 'threads')
    fs.mkdirSync(directory)
    const topics = ['a', 'b', 'c']
    const acknowledged = new Map<string, number>()
    const workers = topics.map((topic) => {
      const worker = new Worker(WRITER, { workerData: [directory, topic, '20'] })
      worker.on('message', (count: number) => acknowledged.set(topic, count))
      return worker
    })
    for (const worker of workers) {
      await until('every topic grows', () => topics.every((topic) => acknowledged.has(topic)))
      acknowledged.clear()
      await worker.terminate()
      topics.shift()
    }
    const log = await EmbeddedLog.open(directory)
    expect(log.topics()).toEqual(['a', 'b', 'c'])
    for (const topic of log.topics()) {
      const count = await countInOrder(log, topic)
      expect(count).toBe(log.bounds(topic, 0).endOffset)
      expect(count).toBeGreaterThan(0)
    }
    await log.close()
  })

  it('accepts records of a thread when another worker thread owns it', async () => {
    const directory = join(root, 'worker-owned')
    const first = new Worker(WRITER, { workerData: [directory, 'a', '20'] })
    await once(first, 'message')
    const log = await EmbeddedLog.open(directory)
    const producer = log.producer('a')
    const before = log.bounds('a', 0).endOffset
    producer.send(null, new Uint8Array(1), 1, { partition: 0 })
    await producer.flush()
    expect(log.bounds('a', 0).endOffset).toBeGreaterThan(before)
    await first.terminate()
    await log.close()
  })
})
