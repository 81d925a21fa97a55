import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import type { Deployment } from '../../../../src/inference/port/deployment.ts'
import type { InferenceEngine } from '../../../../src/inference/port/engine.ts'
import type { ModelSource } from '../../../../src/inference/port/model.ts'
import { untilPasses } from '../../../run/until.ts'
import { ENDS_WORKER, HANGS, THROWS } from '../function-models.ts'
import { floats, floatsOf } from '../models.ts'

const id = { name: 'doubling', version: 1 }
let engine: InferenceEngine

const source = (name: string): ModelSource => ({
  kind: 'function',
  module: join(import.meta.dirname, '..', 'function-models.ts'),
  export: name,
})

async function load(deployment: Partial<Deployment> = {}, name = 'doubling'): Promise<void> {
  engine = openInferenceEngine()
  await engine.load(id, source(name), { sloMs: 60_000, ...deployment })
}

const infer = (value: number) =>
  engine.infer({ model: id, inputs: [floats('x', [1], [value])] }).then(
    ({ outputs }) => floatsOf(outputs[0]!)[0],
    (error) => error.code as string,
  )

afterEach(() => engine[Symbol.asyncDispose]())

describe.each(['thread', 'process'] as const)('a worker with isolation %s', (isolation) => {
  it('fails a request that the model refuses alone, not its batch', async () => {
    await load({ isolation })
    const values = Array.from({ length: 40 }, (_, i) => (i === 17 ? THROWS : i))
    const answers = await Promise.all(values.map(infer))
    expect(answers).toEqual(values.map((value) => (value === THROWS ? 'MODEL_FAILED' : value * 2)))
    expect(engine.statistics()[0]).toMatchObject({ answered: 39, failed: 1, workersLost: 0 })
  })

  it('that ends is replaced: a poisoned request fails by itself, the rest is answered', async () => {
    await load({ isolation })
    // The first one keeps the worker busy while the others gather.
    const values = Array.from({ length: 9 }, (_, i) => (i === 4 ? ENDS_WORKER : i))
    const answers = await Promise.all(values.map(infer))
    expect(answers).toEqual(
      values.map((value) => (value === ENDS_WORKER ? 'POISONED_REQUEST' : value * 2)),
    )
    expect(await infer(21)).toBe(42)
  })

  it('that hangs is noticed and replaced', async () => {
    await load({ isolation, overtimeMs: 800, workers: 2 })
    const hanging = infer(HANGS)
    expect(await Promise.all([infer(1), infer(2)])).toEqual([2, 4])
    expect(await hanging).toBe('POISONED_REQUEST')
    expect(await infer(3)).toBe(6)
    expect(engine.statistics()[0]!.workersLost).toBeGreaterThanOrEqual(3)
  })
})

describe('a request that waits', () => {
  let folder: string

  /** What becomes of a request that ends its worker, and of one beside it. */
  const endsWith = async (name: string) => {
    engine = openInferenceEngine()
    const model = { ...source(name), options: join(folder, 'loads') } as ModelSource
    await engine.load(id, model, { sloMs: 60_000, isolation: 'process' })
    return await Promise.all([infer(ENDS_WORKER), infer(1)])
  }

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'weir-loads-'))
  })

  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('is answered, although the processes that load the model for it are killed', async () => {
    expect(await endsWith('killedInLoads')).toEqual(['POISONED_REQUEST', 2])
  })

  it('fails when the processes that load the model for it end by themselves', async () => {
    expect(await endsWith('crashingInLoads')).toEqual(['MODEL_FAILED', 'MODEL_FAILED'])
  })
})

describe('recycling', () => {
  it('replaces a worker after its runs, without a loss', async () => {
    await load({ recycleAfterRuns: 3 }, 'counting')
    let replacements = 0
    let before = 0
    for (const endsAt = Date.now() + 60_000; replacements < 2 && Date.now() < endsAt; ) {
      const count = await infer(0)
      if (typeof count !== 'number') throw new Error(`a request ended with ${count}`)
      if (count < before) replacements++
      before = count
    }
    expect(replacements).toBe(2)
    const [statistics] = engine.statistics()
    expect(statistics).toMatchObject({ workersLost: 0, failed: 0, expired: 0 })
  })
})

describe('a warm-up', () => {
  it('runs the model in each worker before the first request', async () => {
    await load({ warmUp: { runs: 3 } }, 'counting')
    expect(await infer(0)).toBe(4)
    // A worker counts a batch after the answers of the batch.
    await untilPasses(() =>
      expect(engine.statistics()[0]).toMatchObject({ answered: 1, batches: 1 }),
    )
  })
})

describe('hedging', () => {
  it('gives a request whose worker stalls to a second one, and runs the rest once', async () => {
    engine = openInferenceEngine()
    const counter = new SharedArrayBuffer(4)
    const stalling = { ...source('stalling'), options: counter } as ModelSource
    await engine.load(id, stalling, { sloMs: 8000, workers: 2, hedge: { afterMs: 30 } })
    const answer = await engine.infer({ model: id, inputs: [floats('x', [1], [4])] })
    expect(floatsOf(answer.outputs[0]!)).toEqual([8])
    expect(answer.flags).toEqual({ isHedged: true })
    expect(engine.statistics()[0]).toMatchObject({
      hedged: 1,
      hedgeWins: 1,
      answered: 1,
      executionsPerRequest: 2,
      workersWanted: 2,
    })
    const runs = new Int32Array(counter)[0]
    expect(runs).toBe(2)
  })
})

describe('a model', () => {
  it('whose output has the wrong number of items fails, and says so (MLServer#903: an empty answer)', async () => {
    await load({}, 'short')
    await expect(
      engine.infer({ model: id, inputs: [floats('x', [2], [1, 2])] }),
    ).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('the output "y" has the shape [0] for a batch of 2 items'),
    })
  })

  it('is given up at the deadline wherever its request is (triton#7512)', async () => {
    await load({ sloMs: 30, overtimeMs: 60_000, queueCapacity: 8 })
    const stop = new AbortController()
    const hanging = engine.infer({
      model: id,
      inputs: [floats('x', [1], [HANGS])],
      deadlineMs: 60_000,
      signal: stop.signal,
    })
    const isBusy = () => expect(engine.statistics()[0]!.workersBusy).toBe(1)
    await untilPasses(isBusy)
    // The only worker hangs: what waits behind it ends at its deadline, too, and frees its place.
    for (let round = 0; round < 4; round++) {
      const answers = await Promise.all(Array.from({ length: 7 }, () => infer(1)))
      expect(new Set(answers)).toEqual(new Set(['DEADLINE_EXCEEDED']))
    }
    stop.abort(new Error('no longer needed'))
    await expect(hanging).rejects.toThrow('no longer needed')
  })

  it('counts an answer after the goal as late, although its own deadline is later', async () => {
    await load({ sloMs: 1 }, 'waiting')
    const inputs = [floats('x', [1], [4])]
    await engine.infer({ model: id, inputs, deadlineMs: 60_000 })
    expect(engine.statistics()[0]).toMatchObject({ answered: 1, inTime: 0, sloAttainment: 0 })
  })

  it('answers with its default what it cannot answer in time', async () => {
    const outputs = [floats('y', [1], [0.5])]
    await load({ sloMs: 30, overtimeMs: 60_000, default: outputs })
    const answer = await engine.infer({ model: id, inputs: [floats('x', [1], [HANGS])] })
    expect(answer).toMatchObject({ outputs, flags: { isDefault: 'expired' } })
  })

  it('refuses what does not fit into its queue, and gives cancelled requests their place back', async () => {
    await load({ queueCapacity: 4, overtimeMs: 60_000 })
    const stop = new AbortController()
    const held = Array.from({ length: 4 }, (_, i) =>
      engine
        .infer({
          model: id,
          inputs: [floats('x', [1], [i === 0 ? HANGS : i])],
          signal: stop.signal,
        })
        .catch((error) => error),
    )
    expect(await infer(9)).toBe('OVERLOADED')
    stop.abort(new Error('no longer needed'))
    for (const error of await Promise.all(held)) expect(error.message).toBe('no longer needed')
    const [statistics] = engine.statistics()
    expect(statistics).toMatchObject({ cancelled: 4, shedFull: 1 })
    expect(statistics!.waiting).toBeLessThanOrEqual(1)
  })
})
