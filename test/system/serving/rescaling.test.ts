import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { channels } from '../../../src/client/diagnostics.ts'
import { WeirClient } from '../../../src/client/index.ts'
import type { EncodedPairs } from '../../../src/wire/encoded-pairs.ts'
import { FrameWriter } from '../../../src/wire/frame-writer.ts'
import { freePorts } from '../../services/free-port.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'
import { KEYS } from './rescaled-job.ts'

/** As long as a busy machine may need to stop the job and to restore it. */
const DEADLINE_MS = 120_000
const TERMS = { deadlineMs: DEADLINE_MS }
const ONE_VERSION = { ...TERMS, version: 1 }
const LAST = `key-${KEYS - 1}`

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-rescaling-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Starts the job and resolves when its port serves. */
async function start(port: number, slots: number): Promise<CommandProcess> {
  const job = fileURLToPath(new URL('rescaled-job.ts', import.meta.url))
  const flags = ['--port', String(port), '--slots', String(slots), '--data-dir', folder]
  const process = weir(['run', job, ...flags])
  await process.printed(/serving queries/)
  return process
}

/** One request of each kind; it rejects when it fails, or one of its keys. */
const REQUESTS: Readonly<Record<string, (client: WeirClient, key: string) => Promise<unknown>>> = {
  prediction: (client, key) => client.predict('ROWS', key, LAST, ONE_VERSION),
  pairs: async (client, key) => {
    const { errors } = await client.predictPairs('ROWS', pairOf(key, LAST), ONE_VERSION)
    for (const error of errors.values()) throw error
  },
  row: async (client, key) => requireOk(await client.rows('ROWS', [key, LAST], ONE_VERSION)),
  value: async (client, key) => requireOk(await client.values('VALUES', [key, LAST], TERMS)),
  scan: (client, key) => client.scan('VALUES', { from: key, to: `${key}~`, limit: 20 }, TERMS),
  'top list': async (client, key) =>
    requireOk([await client.topK('ROWS', key, { ...ONE_VERSION, k: 3 })]),
}

function pairOf(left: string, right: string): EncodedPairs {
  const writer = new FrameWriter(64)
  for (const key of [left, right]) writer.key(key)
  return { count: 1, bytes: writer.toBytes() }
}

/** Throws the error of the first answer that has one. */
function requireOk(
  answers: readonly ({ readonly ok: true } | { readonly ok: false; readonly error: unknown })[],
): void {
  for (const answer of answers) if (!answer.ok) throw answer.error
}

/** Asks until it is stopped, for one key after the other, and keeps what fails. */
class Asking {
  readonly failures: string[] = []
  /** Answers by kind of request. */
  readonly answers = new Map<string, number>()
  private stopped = false
  private readonly loops: Promise<unknown>

  constructor(client: WeirClient) {
    this.loops = Promise.all(Object.keys(REQUESTS).map((kind) => this.ask(client, kind)))
  }

  private async ask(client: WeirClient, kind: string): Promise<void> {
    for (let i = 0; !this.stopped; i += 7) {
      const failed = await REQUESTS[kind]!(client, `key-${i % KEYS}`).then(() => undefined, String)
      if (failed === undefined) this.answers.set(kind, (this.answers.get(kind) ?? 0) + 1)
      else this.failures.push(`${kind}: ${failed}`)
    }
  }

  /** Resolves when every kind of request has been answered so many times from now on. */
  async answered(times: number): Promise<void> {
    const before = new Map(this.answers)
    const isDone = (kind: string): boolean =>
      (this.answers.get(kind) ?? 0) >= (before.get(kind) ?? 0) + times
    await expect
      .poll(() => Object.keys(REQUESTS).every(isDone), { timeout: DEADLINE_MS })
      .toBe(true)
  }

  async stop(): Promise<void> {
    this.stopped = true
    await this.loops
  }
}

it('a client that asks while a job starts again with more slots, and with fewer, gets answers and no error', async () => {
  const [port = 0] = await freePorts(1)
  let job = await start(port, 2)
  const codes = new Set<string>()
  const note = (message: unknown): unknown => codes.add((message as { code: string }).code)
  try {
    await using client = await WeirClient.connect({ port, deadlineMs: DEADLINE_MS })
    await expect
      .poll(async () => (await client.values('VALUES', [LAST]))[0]?.ok, { timeout: DEADLINE_MS })
      .toBe(true)
    const asking = new Asking(client)
    channels.retry.subscribe(note)
    for (const slots of [3, 1]) {
      await asking.answered(2)
      job.signal('SIGINT')
      await job.ended
      job = await start(port, slots)
      await asking.answered(2)
    }
    await asking.stop()
    expect(asking.failures).toEqual([])
    // The client has asked while the job was away and while it was restored.
    expect([...codes]).toEqual(expect.arrayContaining(['RESTORING', 'UNAVAILABLE']))
  } finally {
    channels.retry.unsubscribe(note)
    await job[Symbol.asyncDispose]()
  }
})
