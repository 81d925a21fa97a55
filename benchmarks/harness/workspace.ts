import { join } from 'node:path'
import type { KeyDistribution } from '../../src/testing/load/keys/id-drawer.ts'
import { KeySchedule } from '../load/key-schedule.ts'
import { type ModelShape, rowsOf } from '../load/model-shape.ts'
import { type RedisRival, startRedis } from '../rivals/redis.ts'
import { loadRedisModel } from '../rivals/redis-model.ts'
import { ServedModel, type ServingSetup } from '../served/model.ts'
import { type PublishedModel, publishModelFor, withOwnState } from '../served/published-model.ts'

/** Serves the whole model from memory, without periodic checkpoints. */
const IN_MEMORY: ServingSetup = {
  configuration: {
    'state.backend.memory.budget': '8 gb',
    'execution.checkpointing.interval': '1 h',
  },
}

/**
 * Models and servers that the benchmarks of one run share, so that each is created once: published models, a
 * server that holds one in memory, Redis with the same rows.
 */
export class Workspace implements AsyncDisposable {
  private readonly directory: string
  private readonly say: (line: string) => void
  private readonly models = new Map<string, Promise<PublishedModel>>()
  private readonly schedules = new Map<string, KeySchedule>()
  private served: { readonly key: string; readonly model: ServedModel } | undefined
  private redis: { readonly key: string; readonly rival: RedisRival | undefined } | undefined
  private folders = 0

  constructor(directory: string, say: (line: string) => void) {
    this.directory = directory
    this.say = say
  }

  /** A generated model of this shape in a log. Benchmarks share the log, so it can hold later updates. */
  model(shape: ModelShape): Promise<PublishedModel> {
    const key = JSON.stringify(shape)
    const known = this.models.get(key)
    if (known !== undefined) return known
    this.say(`publishing ${shape.users} users and ${shape.items} items of ${shape.factors} floats`)
    const model = publishModelFor(this.folder('model'), shape)
    this.models.set(key, model)
    return model
  }

  /** The same model with fresh folders for checkpoints and state. */
  async fresh(shape: ModelShape): Promise<PublishedModel> {
    return withOwnState(await this.model(shape), this.folder('serving'))
  }

  /**
   * A server with the whole live model in memory. It runs until a model of another shape, or one with another
   * number of query threads, is served.
   */
  async serve(shape: ModelShape, queryThreads = 1): Promise<ServedModel> {
    const key = JSON.stringify([shape, queryThreads])
    if (this.served?.key === key) return this.served.model
    await this.stopServing()
    const published = await this.fresh(shape)
    this.say(`loading ${rowsOf(shape)} rows into Weir`)
    const model = await ServedModel.start(published, { ...IN_MEMORY, queryThreads })
    this.served = { key, model }
    await model.liveAtMs
    return model
  }

  /** Stops the shared server, so that another one has the machine to itself. */
  async stopServing(): Promise<void> {
    const { served } = this
    this.served = undefined
    await served?.model.close()
  }

  /** Redis with the rows of the model. Where it is not installed, says so and returns undefined. */
  async redisWith(shape: ModelShape): Promise<RedisRival | undefined> {
    const key = JSON.stringify(shape)
    if (this.redis?.key === key) return this.redis.rival
    await this.stopRedis()
    const rival = await startRedis()
    this.redis = { key, rival }
    if (rival === undefined) {
      this.say('redis-server is not installed (Debian: apt-get install redis-server): no rival')
      return undefined
    }
    this.say(`loading ${rowsOf(shape)} rows into Redis`)
    await loadRedisModel(rival.client, shape)
    return rival
  }

  /** Stops Redis, so that its memory is free. */
  async stopRedis(): Promise<void> {
    const { redis } = this
    this.redis = undefined
    await redis?.rival?.[Symbol.asyncDispose]()
  }

  /** Pairs of keys of the model. */
  schedule(shape: ModelShape, distribution: KeyDistribution): KeySchedule {
    const key = JSON.stringify([shape, distribution])
    const known = this.schedules.get(key)
    if (known !== undefined) return known
    const schedule = new KeySchedule(shape, distribution)
    this.schedules.set(key, schedule)
    return schedule
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopServing()
    await this.stopRedis()
  }

  private folder(name: string): string {
    this.folders += 1
    return join(this.directory, `${name}-${this.folders}`)
  }
}
