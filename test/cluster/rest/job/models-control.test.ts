import { describe, expect, it } from 'vitest'
import { ModelsControl } from '../../../../src/cluster/rest/job/models-control.ts'
import type { AskedModel } from '../../../../src/jobs/asked-models.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'

const asked = (name: string): AskedModel => ({
  info: {
    name,
    kind: 'onnx',
    liveVersion: 0,
    versions: [],
    aliases: {},
    inputs: [],
    outputs: [],
    revision: 0,
    maxBatchItems: 0,
    batching: '',
    sloMs: 50,
    problems: ['aliases.json:1: no'],
    isExpected: true,
    statistics: {},
  },
  settings: null,
})

const control = (clock = new ManualClock()) =>
  new ModelsControl({
    id: 'ab',
    name: 'models',
    list: () => [asked('b'), asked('a')],
    configuration: { 'rest.port': '0' },
    queryPort: 9069,
    clock,
  })

describe('a process that serves models, as a job', () => {
  it('runs without operators and checkpoints', async () => {
    expect(await control().snapshot()).toMatchObject({
      id: 'ab',
      name: 'models',
      status: 'RUNNING',
      vertices: [],
      checkpoints: undefined,
      configuration: { 'rest.port': '0' },
      process: { queryPort: 9069 },
    })
  })

  it('shows its models by name, and no state and no topics', async () => {
    const { data } = control()
    expect((await data.servedModels({})).models.map(({ name }) => name)).toEqual(['a', 'b'])
    expect(await data.states({})).toEqual({ states: [] })
    expect(await data.topics({})).toEqual({ sources: [] })
    await expect(data.models({})).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    await expect(data.rollBack({})).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  })

  it('is cancelled once, and says how it ended', async () => {
    const clock = new ManualClock()
    const one = control(clock)
    const changes: string[] = []
    one.onStatus(({ to }) => changes.push(to))
    await one.cancel()
    await one.cancel()
    clock.advance(100)
    await one.canceled
    one.end()
    expect(changes).toEqual(['CANCELLING', 'CANCELED'])
    const other = control()
    other.end()
    expect((await other.snapshot()).status).toBe('SUSPENDED')
  })

  it.each([
    ['checkpoint', (one: ModelsControl) => one.checkpoint()],
    ['savepoint', (one: ModelsControl) => one.savepoint()],
    ['stop', (one: ModelsControl) => one.stop()],
    ['profile', (one: ModelsControl) => one.profile()],
  ])('refuses a %s', async (_, call) => {
    await expect(call(control())).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  })
})
