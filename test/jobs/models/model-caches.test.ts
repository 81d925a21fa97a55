import { describe, expect, it } from 'vitest'
import type { InferAnswer, InferRequest } from '../../../src/inference/port/request.ts'
import { DEFAULT_SETTINGS } from '../../../src/inference/repository/settings.ts'
import { ModelCaches } from '../../../src/jobs/models/model-caches.ts'
import { ServedModel } from '../../../src/jobs/models/served-model.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { rawOfJson } from '../../../src/wire/inference/json-tensor.ts'

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
  const loaded = { signature, revision: 1, settings, id, pinned: [] }
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
