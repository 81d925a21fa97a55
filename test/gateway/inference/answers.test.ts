import { describe, expect, it } from 'vitest'
import { InferenceAnswers } from '../../../src/gateway/inference/answers.ts'
import type { InferenceModel } from '../../../src/gateway/inference/model.ts'
import type { ModelRepository } from '../../../src/gateway/inference/repository.ts'
import { InferenceStatistics } from '../../../src/gateway/inference/statistics.ts'
import type { RunOptions } from '../../../src/gateway/port/services.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { MODEL_KIND } from '../../../src/wire/routing-table.ts'

/** Answers of a model with a goal of 100 ms, whose runs and ways out take as long as the test says. */
class World {
  readonly clock = new ManualClock()
  readonly asked: RunOptions[] = []
  runMs = 10
  wayOutMs = 0
  private readonly answers: InferenceAnswers

  constructor() {
    const model: InferenceModel = {
      platform: 'test',
      inputs: [],
      outputs: [],
      sloMs: 100,
      infer: async (_, __, options) => {
        this.asked.push(options)
        this.clock.advance(this.runMs + this.wayOutMs)
        const served = { queueNs: 0, computeNs: this.runMs * 1e6, isCached: false }
        return { modelVersion: 1, outputs: [], items: 1, served }
      },
    }
    const info = { name: 'm', kind: MODEL_KIND, dimension: 0, versions: [1], liveVersion: 1 }
    const entry = { info, model, versions: [], problems: [] }
    const repository = { known: () => entry } as unknown as ModelRepository
    const statistics = new InferenceStatistics()
    this.answers = new InferenceAnswers({ repository, statistics, clock: this.clock })
  }

  async ask(): Promise<number> {
    const body = Buffer.from('{"inputs": []}')
    await this.answers.answer({ model: 'm', version: undefined, body, jsonLength: undefined })
    return this.asked.at(-1)!.deadlineMs!
  }
}

describe('the goal of a request over HTTP', () => {
  it('includes the way out: the model gets what the longest one of late leaves', async () => {
    const world = new World()
    expect(await world.ask()).toBe(100)
    world.wayOutMs = 8
    await world.ask()
    expect(await world.ask()).toBeCloseTo(92)
    world.wayOutMs = 0
    for (let i = 0; i < 300; i++) await world.ask()
    expect(await world.ask()).toBeGreaterThan(99)
  })

  it('leaves the model three quarters of the time, however long a pause of the process was', async () => {
    const world = new World()
    world.wayOutMs = 80
    await world.ask()
    expect(await world.ask()).toBe(75)
  })

  it('has no answer after it: the request has failed then', async () => {
    const world = new World()
    world.wayOutMs = 95
    const late = { code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('100 ms') }
    await expect(world.ask()).rejects.toMatchObject(late)
  })
})
