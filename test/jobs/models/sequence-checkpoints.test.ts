import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../../../src/core/clock.ts'
import type { InferAnswer, InferRequest } from '../../../src/inference/port/request.ts'
import { DEFAULT_SETTINGS } from '../../../src/inference/repository/settings.ts'
import type { SequenceTerms } from '../../../src/inference/sequences/sequence-states.ts'
import { readStep } from '../../../src/inference/sequences/step.ts'
import type { SequenceEvent } from '../../../src/jobs/models/events.ts'
import { ModelCaches } from '../../../src/jobs/models/model-caches.ts'
import { ModelSequences } from '../../../src/jobs/models/model-sequences.ts'
import { SequenceCheckpoints } from '../../../src/jobs/models/sequence-checkpoints.ts'
import { type LoadedVersion, ServedModel } from '../../../src/jobs/models/served-model.ts'
import { jobIdOf } from '../../../src/jobs/serve/job-id.ts'
import { DEFAULT_JOB_CONFIGURATION } from '../../../src/runtime/configuration/configuration.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { rawOfJson } from '../../../src/wire/inference/json-tensor.ts'
import { until } from '../../run/until.ts'

const REPOSITORY = '/models'
const EVERY_MS = 1000
const TTL_MS = 60_000

const number = (name: string, value: number) =>
  rawOfJson({ name, datatype: 'FP32', shape: [1], data: [value] })
const floatOf = ({ data }: { readonly data: Uint8Array }): number =>
  new Float32Array(data.slice().buffer)[0]!
const spec = (name: string) => ({ name, datatype: 'FP32' as const, shape: [1] })

/** A version of a model that adds: its answer is the sum of its sequence. */
function versionOf({
  version = 1,
  sha256 = 'aa',
  sloMs = 100,
  ttlMs = TTL_MS,
} = {}): LoadedVersion {
  return {
    signature: { inputs: [spec('x'), spec('n')], outputs: [spec('y'), spec('m')] },
    revision: 1,
    settings: {
      ...DEFAULT_SETTINGS,
      deployment: { sloMs },
      sequence: { carried: [{ input: 'n', output: 'm' }], ttlMs, most: 20_000 },
    },
    id: { name: 'sum', version },
    pinned: [{ path: '/models/sum/1/model.onnx', bytes: 1, sha256 }],
    source: { kind: 'onnx', file: '/models/sum/1/model.onnx' },
  }
}

async function added({ inputs, model }: InferRequest): Promise<InferAnswer> {
  const sum = inputs.reduce((all, one) => all + floatOf(one), 0)
  const times = { queueMs: 0, runMs: 0, batchItems: 1 }
  return {
    outputs: [number('y', sum), number('m', sum)],
    version: model.version,
    ...times,
    flags: {},
  }
}

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'weir-sequence-checkpoints-'))
})
afterEach(() => rm(directory, { recursive: true }))

const folder = (...names: readonly string[]): string =>
  join(directory, jobIdOf(`models ${REPOSITORY}`), ...names)
const segments = async (): Promise<readonly string[]> => (await readdir(folder('shared'))).sort()

/** Numbers of the completed checkpoints. */
async function completed(): Promise<readonly number[]> {
  const names = await readdir(folder())
  return names.flatMap((name) => /-completed-(\d+)$/.exec(name)?.[1] ?? []).map(Number)
}

/** A process of models; one that is not ended stands for one that was killed. */
class Server {
  readonly events: SequenceEvent[] = []
  readonly sequences: ModelSequences
  private readonly clock: Clock
  private readonly model = new ServedModel('sum')
  private checkpoints: SequenceCheckpoints | undefined

  private constructor(clock: Clock) {
    this.clock = clock
    const engine = { infer: added, models: () => [], model: () => undefined }
    this.sequences = new ModelSequences(new ModelCaches(engine, clock), clock)
  }

  static async start(clock: Clock = new ManualClock()): Promise<Server> {
    const server = new Server(clock)
    server.checkpoints = await SequenceCheckpoints.open({
      sequences: server.sequences,
      repository: REPOSITORY,
      checkpoints: { ...DEFAULT_JOB_CONFIGURATION.checkpoints, directory, intervalMs: EVERY_MS },
      clock,
      onEvent: (event) => server.events.push(event),
    })
    return server
  }

  get isOn(): boolean {
    return this.checkpoints !== undefined
  }

  /** The sum, and the step, of an answer. */
  async add(id: string, x: number, more: Partial<SequenceTerms> = {}, version = versionOf()) {
    const terms = { id, isStart: false, isEnd: false, ...more }
    const request = { model: version.id, inputs: [number('x', x)] }
    const { outputs, flags } = await this.sequences.infer(this.model, version, { request, terms })
    return { sum: floatOf(outputs[0]!), step: flags.sequenceStep! }
  }

  /** Lets the time of a checkpoint come. */
  async checkpoint(): Promise<void> {
    const before = Math.max(0, ...(await completed()))
    ;(this.clock as ManualClock).advance(EVERY_MS)
    await until('a checkpoint completes', async () => Math.max(0, ...(await completed())) > before)
  }

  async end(): Promise<void> {
    await this.checkpoints?.[Symbol.asyncDispose]()
  }
}

const START = { isStart: true }
const restoredOf = ({ events }: Server) =>
  events.flatMap((event) => (event.event === 'sequences' ? [event.restored] : []))[0]

async function damage(name: string): Promise<void> {
  const bytes = await readFile(folder('shared', name))
  await writeFile(folder('shared', name), bytes.with(20, bytes[20]! ^ 1))
}

describe('checkpoints of sequences', () => {
  it('let all go on after a planned end, and say so', async () => {
    const before = await Server.start()
    expect(before.events).toEqual([{ event: 'sequences', directory, intervalMs: EVERY_MS }])
    await before.add('a', 1, START)
    await before.add('b', 10, START)
    await before.add('a', 2)
    await before.end()
    expect(before.events.at(-1)).toMatchObject({
      event: 'last-checkpoint',
      last: { kind: 'taken' },
    })
    await expect(before.add('a', 1)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    const after = await Server.start()
    expect(restoredOf(after)).toMatchObject({ sequences: 2, whole: 2 })
    expect(await after.add('a', 4)).toMatchObject({ sum: 7, step: expect.stringMatching(/^3-/) })
    expect(await after.add('b', 4)).toMatchObject({ sum: 14 })
    await after.end()
  })

  it('give the last one before a kill, and only to requests that name its answer', async () => {
    const killed = await Server.start()
    const { step: first } = await killed.add('a', 1, START)
    await killed.checkpoint()
    const { step: second } = await killed.add('a', 2)
    await killed.add('b', 1, START)
    const after = await Server.start()
    expect(restoredOf(after)).toMatchObject({ sequences: 1, whole: 0 })
    await expect(after.add('a', 4)).rejects.toMatchObject({
      code: 'SEQUENCE_OUT_OF_STEP',
      details: { step: 1, sequenceStep: first },
    })
    await expect(after.add('a', 4, { after: readStep(second) })).rejects.toThrow(
      'send what came after step 1 again',
    )
    await expect(after.add('b', 4)).rejects.toMatchObject({ code: 'SEQUENCE_LOST' })
    expect(await after.add('a', 2, { after: readStep(first) })).toEqual({ sum: 3, step: second })
    expect((await after.add('a', 4)).sum).toBe(7)
    await after.end()
  })

  it('of a planned end are not whole once a process has gone on from them', async () => {
    const first = await Server.start()
    await first.add('a', 1, START)
    await first.end()
    const killed = await Server.start()
    await killed.add('a', 2)
    const after = await Server.start()
    expect(restoredOf(after)).toMatchObject({ sequences: 1, whole: 0 })
    await expect(after.add('a', 4)).rejects.toMatchObject({ code: 'SEQUENCE_OUT_OF_STEP' })
  })

  it('are not whole, either, where the one of a killed process has the same sequences', async () => {
    const first = await Server.start()
    await first.add('a', 1, START)
    await first.end()
    const killed = await Server.start()
    await killed.checkpoint()
    await killed.add('a', 2)
    const after = await Server.start()
    await expect(after.add('a', 4)).rejects.toMatchObject({ code: 'SEQUENCE_OUT_OF_STEP' })
  })

  it('keep what no model has taken yet, through processes that end as planned', async () => {
    const first = await Server.start()
    await first.add('a', 1, START)
    await first.end()
    const idle = await Server.start()
    await idle.checkpoint()
    await idle.end()
    const after = await Server.start()
    expect((await after.add('a', 2)).sum).toBe(3)
    await after.end()
  })

  it('write nothing again while no request has come', async () => {
    const server = await Server.start()
    await server.add('a', 1, START)
    await server.checkpoint()
    const written = await segments()
    for (let i = 0; i < 5; i++) await server.checkpoint()
    expect(await segments()).toEqual(written)
    await server.add('a', 2)
    await server.checkpoint()
    expect(await segments()).not.toEqual(written)
    await server.end()
    expect((await (await Server.start()).add('a', 1)).sum).toBe(4)
  })

  it.each([
    ['another version', { version: 2 }],
    ['other weights under the same number', { sha256: 'bb' }],
    ['other settings', { sloMs: 50 }],
  ])('mean nothing to %s', async (_what, facts) => {
    const before = await Server.start()
    await before.add('a', 1, START)
    await before.end()
    const after = await Server.start()
    const asked = after.add('a', 2, {}, versionOf(facts))
    await expect(asked).rejects.toThrow('began on another version, or under other settings')
    await after.end()
  })

  it('forget what had no request for its time to live, also while no process ran', async () => {
    const clock = new ManualClock()
    const before = await Server.start(clock)
    await before.add('a', 1, START)
    clock.advance(500)
    await before.add('b', 1, START)
    await before.end()
    const after = await Server.start(new ManualClock(TTL_MS + 400))
    expect((await after.add('b', 1)).sum).toBe(2)
    await expect(after.add('a', 1)).rejects.toMatchObject({ code: 'SEQUENCE_LOST' })
  })

  it('go back to the one before where the newest is damaged, which is not whole', async () => {
    const before = await Server.start()
    const { step } = await before.add('a', 1, START)
    await before.checkpoint()
    const older = await segments()
    await before.add('a', 2)
    await before.end()
    const [newest] = (await segments()).filter((name) => !older.includes(name))
    await damage(newest!)
    const after = await Server.start()
    const warnings = after.events.filter(({ event }) => event === 'sequences-problem')
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatchObject({ error: { message: expect.stringContaining(newest!) } })
    await expect(after.add('a', 4)).rejects.toMatchObject({ details: { step: 1 } })
    expect((await after.add('a', 2, { after: readStep(step) })).sum).toBe(3)
    await after.end()
  })

  it('are left alone where none is whole, and the models answer without them', async () => {
    const before = await Server.start()
    await before.add('a', 1, START)
    await before.end()
    const written = await segments()
    for (const name of written) await damage(name)
    const after = await Server.start()
    expect(after.isOn).toBe(false)
    expect(after.events.at(-1)).toMatchObject({
      event: 'sequences-off',
      error: { code: 'CHECKSUM_MISMATCH' },
    })
    await expect(after.add('a', 2)).rejects.toMatchObject({ code: 'SEQUENCE_LOST' })
    expect((await after.add('a', 2, START)).sum).toBe(2)
    await after.end()
    expect(await segments()).toEqual(written)
  })

  it('let other work have its turn while many sequences are written', async () => {
    const clock = new ManualClock()
    // Each look at this clock takes 0.05 ms, and there is one for each sequence.
    let looks = 0
    let turns = 0
    let isCounted = false
    const looksOfTurn = new Map<number, number>()
    const slow: Clock = {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => {
        if (!isCounted) {
          isCounted = true
          setImmediate(() => {
            turns++
            isCounted = false
          })
        }
        looksOfTurn.set(turns, (looksOfTurn.get(turns) ?? 0) + 1)
        return clock.monotonicMs() + ++looks * 0.05
      },
      after: (ms, callback) => clock.after(ms, callback),
    }
    const server = await Server.start(slow)
    const patient = versionOf({ sloMs: 1e9, ttlMs: 1e9 })
    for (let i = 0; i < 500; i++) await server.add(`s${i}`, i, START, patient)
    looksOfTurn.clear()
    // The looks have made the clock run ahead of its callbacks.
    clock.advance(10 * EVERY_MS)
    await until('the checkpoint completes', async () => (await completed()).length > 0)
    expect(Math.max(...looksOfTurn.values())).toBeLessThan(100)
    expect(looksOfTurn.size).toBeGreaterThan(10)
    const after = await Server.start()
    expect(restoredOf(after)).toMatchObject({ sequences: 500 })
  })
})
