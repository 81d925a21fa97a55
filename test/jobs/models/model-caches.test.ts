import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import type { InferAnswer, InferRequest } from '../../../src/inference/port/request.ts'
import { DEFAULT_SETTINGS } from '../../../src/inference/repository/settings.ts'
import { ModelCaches } from '../../../src/jobs/models/model-caches.ts'
import { ServedModel } from '../../../src/jobs/models/served-model.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { rawOfJson } from '../../../src/wire/inference/json-tensor.ts'

const SOURCE = { kind: 'onnx', file: 'm.onnx' } as const

const tensor = (name: string, value: number) =>
  rawOfJson({ name, datatype: 'FP32', shape: [1], data: [value] })
const id = { name: 'm', version: 1 }
const signature = { inputs: [], outputs: [] }

/** A model with a cache, and an engine whose runs the test settles. */
function world(hasDefault: boolean) {
  const runs: ((answer: InferAnswer) => void)[] = []
  const infer = (_: InferRequest) => new Promise<InferAnswer>((resolve) => runs.push(resolve))
  const clock = new ManualClock()
  const caches = new ModelCaches({ infer, models: () => [], model: () => undefined }, clock)
  const deployment = { sloMs: 100, ...(hasDefault ? { default: [tensor('y', -1)] } : {}) }
  const settings = { ...DEFAULT_SETTINGS, cacheBytes: 1 << 20, deployment }
  const loaded = { signature, revision: 1, settings, id, pinned: [], source: SOURCE }
  const model = new ServedModel('m')
  const ask = (deadlineMs?: number) =>
    caches.infer(model, loaded, {
      model: id,
      inputs: [tensor('x', 1)],
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    })
  const answer = { outputs: [tensor('y', 2)], version: 1, queueMs: 1, runMs: 1, batchItems: 1 }
  return { runs, clock, ask, answer: { ...answer, flags: {} } }
}

describe('a model with a cache', () => {
  it('answers equal requests from one run, and says so', async () => {
    const { runs, ask, answer } = world(false)
    const asked = [ask(), ask()]
    runs[0]!(answer)
    expect(await Promise.all(asked)).toMatchObject([
      { flags: {}, batchItems: 1 },
      { flags: { isCached: true }, batchItems: 0, outputs: answer.outputs },
    ])
    expect(await ask()).toMatchObject({ flags: { isCached: true } })
    expect(runs.length).toBe(1)
  })

  it('ends a request that joined at its own deadline: with the default, or an error without one', async () => {
    const withDefault = world(true)
    void withDefault.ask(1000)
    const joined = withDefault.ask(10)
    withDefault.clock.advance(11)
    expect(await joined).toMatchObject({
      flags: { isDefault: 'expired' },
      outputs: [tensor('y', -1)],
    })
    const without = world(false)
    void without.ask(1000)
    const late = without.ask(10)
    const refused = expect(late).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    without.clock.advance(11)
    await refused
  })
})

/** A cache of 300 entries before an engine that answers each value with the version; keys come under Zipf's law. */
function served(cacheWarmUp: number) {
  const runs: InferRequest[] = []
  const infer = async (request: InferRequest): Promise<InferAnswer> => {
    runs.push(request)
    const { version } = request.model
    return {
      outputs: [tensor('y', version)],
      version,
      queueMs: 1,
      runMs: 1,
      batchItems: 1,
      flags: {},
    }
  }
  const caches = new ModelCaches(
    { infer, models: () => [], model: () => undefined },
    new ManualClock(),
  )
  const settings = { ...DEFAULT_SETTINGS, cacheBytes: 300 * 400, cacheWarmUp }
  const model = new ServedModel('m')
  const random = seededRandom(11)
  const versionOf = (version: number) => ({
    signature,
    revision: 1,
    settings,
    id: { name: 'm', version },
    pinned: [],
    source: SOURCE,
  })
  const ask = async (version: number) => {
    const key = Math.floor(1000 ** random.next())
    const loaded = versionOf(version)
    const inputs = [tensor('x', key)]
    const answer = await caches.infer(model, loaded, { model: loaded.id, inputs })
    expect(answer.version).toBe(version)
    return answer.flags.isCached === true
  }
  /** Share of so many requests that a cached answer has. */
  const hitRate = async (version: number, requests: number): Promise<number> => {
    let hits = 0
    for (let i = 0; i < requests; i++) hits += (await ask(version)) ? 1 : 0
    return hits / requests
  }
  const askBytes = (version: number, data: Uint8Array) => {
    const loaded = versionOf(version)
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [1], data } as const]
    return caches.infer(model, loaded, { model: loaded.id, inputs })
  }
  const warm = (version: number) => caches.warm(model, versionOf(version))
  return { runs, hitRate, warm, askBytes }
}

describe('a new version of a model with a cache', () => {
  it('hits at least nine of ten times as often as the one before in its first requests', async () => {
    const { hitRate, warm, runs } = served(1000)
    await hitRate(1, 3000)
    const before = await hitRate(1, 400)
    await warm(2)
    expect(runs.at(-1)).toMatchObject({ model: { version: 2 } })
    expect(await hitRate(2, 400)).toBeGreaterThan(0.9 * before)
  })

  it('begins without answers when no warm-up is set', async () => {
    const { hitRate, warm } = served(0)
    await hitRate(1, 3000)
    const before = await hitRate(1, 400)
    await warm(2)
    expect(await hitRate(2, 400)).toBeLessThan(0.8 * before)
  })

  it('answers no more requests than the settings say', async () => {
    const { hitRate, warm, runs } = served(5)
    await hitRate(1, 3000)
    const asked = runs.length
    await warm(2)
    expect(runs.length - asked).toBe(5)
  })

  it('answers what was asked, although the memory of that request is used again', async () => {
    const { askBytes, warm, runs } = served(5)
    const asked = tensor('x', 7).data
    const bytes = Buffer.from(asked)
    const answering = askBytes(1, bytes)
    bytes.fill(1)
    await answering
    await warm(2)
    expect([...runs.at(-1)!.inputs[0]!.data]).toEqual([...asked])
  })

  it('begins empty with new settings', async () => {
    const { runs, warm } = served(5)
    await warm(2)
    expect(runs).toEqual([])
  })
})
