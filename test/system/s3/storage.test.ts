import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { S3CheckpointStorage } from '../../../src/runtime/checkpoint/storage/s3.ts'
import { recordedIo } from '../../cli/recorded-io.ts'
import { checkpointStorageContract } from '../../contracts/checkpoint-storage.ts'
import { FoldChild } from '../../recovery/fold/child.ts'
import { type Folded, fold } from '../../recovery/fold/job.ts'
import { expectExact, readResults } from '../../recovery/fold/results.ts'
import { StoredFold } from '../../recovery/fold/stored-fold.ts'
import { needs } from '../../run/needs.ts'
import { type SharedS3, sharedS3 } from '../../services/lending/s3.ts'
import { motoPython } from '../../services/s3/moto-server.ts'
import { TcpProxy } from '../../services/tcp-proxy.ts'

const python = await motoPython()
let server: SharedS3
let folders = 0
const encoder = new TextEncoder()

/** Bytes that differ by position. */
function pattern(length: number): Uint8Array {
  const words = Uint32Array.from({ length: length / 4 }, (_, i) => Math.imul(i, 2654435761))
  return new Uint8Array(words.buffer)
}

/** Writes operations for the fold job, and returns the last fold of each key. */
async function producedOps(folder: string, count: number): Promise<Map<string, Folded>> {
  const expected = new Map<string, Folded>()
  const log = await EmbeddedLog.open(folder)
  await log.createTopic('ops', { partitions: 2 })
  const producer = log.producer('ops')
  for (let i = 0; i < count; i++) {
    const operation = { key: `k${i % 300}`, amount: i }
    expected.set(operation.key, fold(expected.get(operation.key), operation))
    producer.send(encoder.encode(operation.key), encoder.encode(`${operation.amount}`), 0)
  }
  await producer.sync()
  await log.close()
  return expected
}

async function write(storage: S3CheckpointStorage, path: string, whole: Uint8Array): Promise<void> {
  const writer = await storage.createWriter(path)
  for (let at = 0; at < whole.length; at += 1_000_000) {
    await writer.write(whole.subarray(at, at + 1_000_000))
  }
  await writer.commit()
}

describe('checkpoints in a bucket', needs(python, 'no Python with moto'), () => {
  beforeAll(async () => {
    // As a user gives them; threads of a job have them, too.
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'id')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'key')
    server = await sharedS3()
    await server.bucket('checkpoints')
  })

  afterAll(async () => {
    vi.unstubAllEnvs()
    await server?.[Symbol.asyncDispose]()
  })

  const newUrl = (port?: number): string =>
    server.storageUrl(`checkpoints/folder-${folders++}`, port)

  checkpointStorageContract('S3CheckpointStorage', async () => {
    const url = newUrl()
    const reopen = () => new S3CheckpointStorage(url)
    return { storage: reopen(), reopen }
  })

  it('keep a file whose connections are reset while its parts are sent, and while it is read', async () => {
    await using proxy = await TcpProxy.start(server.port)
    const storage = new S3CheckpointStorage(newUrl(proxy.port), { partBytes: 5 << 20 })
    const whole = pattern(18 << 20)
    proxy.cutAfterBytes(7 << 20)
    await write(storage, 'job/big', whole)
    expect(await storage.list('job')).toEqual([{ path: 'job/big', bytes: whole.length }])
    const reading = storage.read('job/big', 5_000_001, 10_000_000)
    proxy.cut()
    expect(Buffer.compare(await reading, whole.subarray(5_000_001, 15_000_001))).toBe(0)
    await storage.close()
  })

  it('leave no part of a file that was aborted', async () => {
    const url = newUrl()
    const storage = new S3CheckpointStorage(url, { partBytes: 5 << 20 })
    const writer = await storage.createWriter('job/aborted')
    await writer.write(pattern(12 << 20))
    await writer.abort()
    const uploads = await fetch(`http://127.0.0.1:${server.port}/checkpoints?uploads`)
    expect(await uploads.text()).not.toContain('job/aborted')
    expect(await storage.list('')).toEqual([])
    await storage.close()
  })

  it('restore a job, also when connections are cut and silent during checkpoints', async () => {
    await using proxy = await TcpProxy.start(server.port)
    const url = newUrl(proxy.port)
    await using run = await StoredFold.start(`${url}&timeout-ms=2000`, 's3', {
      'execution.checkpointing.tolerable-failed-checkpoints': '1000',
      'execution.checkpointing.interval': '500 ms',
    })
    for (let cut = 0; cut < 2; cut++) {
      await run.untilInProgress()
      proxy.cut()
    }
    await run.untilInProgress()
    proxy.freeze()
    await run.untilCheckpoints(1)
    expect(run.job.attempt).toBe(1)
    await run.finish()
    const { io, out } = recordedIo()
    const list = ['checkpoint', 'verify', '-D', `execution.checkpointing.dir=${url}`]
    expect(await runCommandLine(list, io)).toBe(0)
    expect(out.join('\n')).toMatch(/chk-\d+\n {2}whole: /)
  })

  it('give a job whose process was killed all it had, and it loses and repeats nothing', async () => {
    const root = mkdtempSync(join(tmpdir(), 'weir-s3-kill-'))
    onTestFinished(() => rmSync(root, { recursive: true, force: true }))
    const expected = await producedOps(join(root, 'in'), 3000)
    const configuration = {
      'execution.checkpointing.dir': newUrl(),
      'execution.checkpointing.interval': '200 ms',
    }
    const options = { backend: 'heap', parallelism: 2, bounded: true, slowMs: 2, configuration }
    const killed = new FoldChild(root, options)
    const results = async (): Promise<number> => (await readResults(join(root, 'out'))).length
    await killed.untilRunning()
    await expect.poll(results).toBeGreaterThan(0)
    await killed.kill()
    expect(await results()).toBeLessThan(3000)
    const next = new FoldChild(root, { ...options, parallelism: 3, slowMs: 0 })
    expect(await next.exited).toBe(0)
    await expectExact(join(root, 'out'), expected)
  })

  it('are tried by weir doctor, which leaves no object', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-doctor-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const url = newUrl()
    for (const [place, verdict, found] of [
      [url, 'ok', 'conditional writes exclude each other'],
      [server.storageUrl('nowhere/weir'), 'problem', 'there is no bucket nowhere'],
    ]) {
      const { io, out } = recordedIo()
      await runCommandLine(['doctor', '--s3', place!, '--data-dir', folder, '--json'], io)
      const findings = out.map((line) => JSON.parse(line) as Record<string, unknown>)
      const expected = { check: 's3', verdict, found: expect.stringContaining(found!) }
      expect(findings).toContainEqual(expect.objectContaining(expected))
    }
    expect(await new S3CheckpointStorage(url).list('')).toEqual([])
  })

  it('in a bucket that is not there end a command with a sentence', async () => {
    const url = server.storageUrl('nowhere/weir')
    const { io, err } = recordedIo()
    const list = ['checkpoint', 'list', '-D', `execution.checkpointing.dir=${url}`]
    expect(await runCommandLine(list, io)).toBe(2)
    expect(err.join('\n')).toMatch(/INVALID_ARGUMENT: .*there is no bucket nowhere; make it/)
  })
})
