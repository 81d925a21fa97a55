import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openInferenceEngine } from '../../../src/inference/engine/engine.ts'
import { pause } from '../../run/pause.ts'
import { untilPasses } from '../../run/until.ts'
import { floats, floatsOf, linearModel } from './models.ts'

const MIB = 2 ** 20
const TURN_MS = 500
const MOST_TURNS = 60
const FACTORS = [2, 3, 5] as const

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-memory-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const idOf = (factor: number) => ({ name: `times-${factor}`, version: 1 })

describe('an engine with a limit of memory', () => {
  it.each(['thread', 'process'] as const)(
    'answers every model, although not all of them fit (%s)',
    async (isolation) => {
      await using engine = openInferenceEngine({ memoryBytes: 25 * MIB })
      const deployment = { sloMs: 60_000, memoryBytes: 10 * MIB, isolation }
      for (const factor of FACTORS) {
        await engine.load(
          idOf(factor),
          linearModel(folder, { inputs: 1, outputs: 1, factor }),
          deployment,
        )
      }
      const residents = () => engine.statistics().filter(({ resident }) => resident === 1).length
      await untilPasses(() => expect(residents()).toBe(2))
      const ask = async (factor: number, value: number): Promise<void> => {
        const inputs = [floats('x', [1, 1], [value])]
        const { outputs } = await engine.infer({ model: idOf(factor), inputs })
        expect(floatsOf(outputs[0]!)).toEqual([factor * value])
      }
      for (let i = 0; i < 9; i++) await ask(FACTORS[i % 3]!, i)
      await Promise.all(Array.from({ length: 30 }, (_, i) => ask(FACTORS[i % 3]!, i)))
      const statistics = engine.statistics()
      expect(statistics.map(({ answered }) => answered)).toEqual([13, 13, 13])
      expect(statistics[0]!.deviceLimitBytes).toBe(25 * MIB)
      expect(statistics[0]!.deviceBytes).toBeLessThanOrEqual(25 * MIB)
      expect(statistics[0]!.deviceBytes).toBeGreaterThanOrEqual(10 * MIB)
      // Three models in turn and room for two: at least every third request finds its model away.
      expect(statistics.reduce((sum, { loads }) => sum + loads, 0)).toBeGreaterThan(2)
      for (const { loads, loadMs, evictions, memoryBytes } of statistics) {
        expect(loadMs > 0).toBe(loads > 0)
        expect(evictions).toBeGreaterThanOrEqual(loads)
        expect(memoryBytes).toBe(10 * MIB)
      }
      expect(statistics.map(({ workersLost }) => workersLost)).toEqual([0, 0, 0])
    },
  )

  it('brings a model back before it is due, where it is asked in regular gaps', async () => {
    await using engine = openInferenceEngine({ memoryBytes: 10 * MIB })
    const deployment = { sloMs: 60_000, memoryBytes: 10 * MIB }
    for (const factor of [2, 3]) {
      const source = linearModel(folder, { inputs: 1, outputs: 1, factor })
      await engine.load(idOf(factor), source, deployment)
    }
    const ask = (factor: number) =>
      engine.infer({ model: idOf(factor), inputs: [floats('x', [1, 1], [1])] })
    const startedAt = performance.now()
    let found = 0
    // A busy machine disturbs the gaps, after which a fetch waits for four regular ones.
    for (let turn = 1; turn <= MOST_TURNS && found < 2; turn++) {
      // To a time on the clock: each model is asked in gaps of two turns.
      const leftMs = startedAt + turn * TURN_MS - performance.now()
      await pause(leftMs, 'each model is asked in regular gaps')
      const model = turn % 2
      if (turn > 2 && engine.statistics()[model]!.resident === 1) found++
      await ask([2, 3][model]!)
    }
    // Without a fetch each request would find the other model in the only place.
    expect(found).toBe(2)
  })

  it('keeps a model that never leaves, and leaves room for the others', async () => {
    await using engine = openInferenceEngine({ memoryBytes: 25 * MIB })
    const deployment = { sloMs: 60_000, memoryBytes: 10 * MIB }
    const load = (factor: number, isKeptLoaded: boolean) =>
      engine.load(idOf(factor), linearModel(folder, { inputs: 1, outputs: 1, factor }), {
        ...deployment,
        isKeptLoaded,
      })
    await load(2, true)
    await load(3, false)
    await load(5, false)
    for (const factor of [3, 5, 3, 5]) {
      await engine.infer({ model: idOf(factor), inputs: [floats('x', [1, 1], [1])] })
    }
    const [kept, ...others] = engine.statistics()
    expect(kept).toMatchObject({ evictions: 0, resident: 1 })
    expect(others.every(({ evictions }) => evictions > 0)).toBe(true)
    await expect(load(7, true)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(engine.models()).toHaveLength(3)
  })

  it('measures what a model takes, and refuses one that can never fit', async () => {
    await using engine = openInferenceEngine({ memoryBytes: 2 * MIB })
    // Weights of 4 MiB.
    const large = linearModel(folder, { inputs: 1024, outputs: 1024 })
    const loading = engine.load({ name: 'large', version: 1 }, large, {
      sloMs: 60_000,
      maxBatchItems: 1,
    })
    await expect(loading).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(
        /needs \d+\.\d MiB of memory, and all models may have 2\.0 MiB/,
      ),
    })
    expect(await engine.measure(large, { sloMs: 1, maxBatchItems: 1 })).toBeGreaterThan(3 * MIB)
    expect(engine.models()).toEqual([])
  })

  it('loads two models at the same time (ray#65346: one lock for all loads)', async () => {
    await using engine = openInferenceEngine({ memoryBytes: 20 * MIB })
    const words = new Int32Array(new SharedArrayBuffer(8))
    words[1] = 2
    const together = {
      kind: 'function',
      module: join(import.meta.dirname, 'function-models.ts'),
      export: 'loadingTogether',
      options: words.buffer,
    } as const
    const deployment = { sloMs: 60_000, memoryBytes: 10 * MIB }
    // Each load ends when the other one has begun, too.
    await Promise.all(
      ['a', 'b'].map((name) => engine.load({ name, version: 1 }, together, deployment)),
    )
    expect(engine.models()).toHaveLength(2)
  })

  it('answers one model while another one is being loaded', async () => {
    await using engine = openInferenceEngine({ memoryBytes: 20 * MIB })
    const deployment = { sloMs: 60_000, memoryBytes: 10 * MIB }
    await engine.load(
      idOf(2),
      linearModel(folder, { inputs: 1, outputs: 1, factor: 2 }),
      deployment,
    )
    const isAllowed = new Int32Array(new SharedArrayBuffer(4))
    const slow = {
      kind: 'function',
      module: join(import.meta.dirname, 'function-models.ts'),
      export: 'loadingLate',
      options: isAllowed.buffer,
    } as const
    const loading = engine.load({ name: 'slow', version: 1 }, slow, deployment)
    const { outputs } = await engine.infer({ model: idOf(2), inputs: [floats('x', [1, 1], [7])] })
    expect(floatsOf(outputs[0]!)).toEqual([14])
    expect(engine.models().map(({ id }) => id.name)).toEqual(['times-2'])
    Atomics.store(isAllowed, 0, 1)
    await loading
    expect(engine.models()).toHaveLength(2)
  })
})
