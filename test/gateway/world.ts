import type { FastifyInstance } from 'fastify'
import { systemClock } from '../../src/core/clock.ts'
import { createGateway, type GatewayOptions } from '../../src/gateway/gateway.ts'
import type {
  GatewayServices,
  ObservationTopic,
  ServedState,
  StoredPosition,
} from '../../src/gateway/port/services.ts'
import type { Rating } from '../../src/models/ratings/rating.ts'
import type { RoutingTable } from '../../src/wire/routing-table.ts'
import { DIMENSION, ModelWorld } from '../contracts/model-reader-world.ts'
import { SHARED_COMPILERS } from '../http/shared-compilers.ts'
import { predictPairs } from './pairs-of-reader.ts'

/** A gateway over real row tables in this thread, and a topic that is a list. */
export class GatewayWorld {
  readonly model = new ModelWorld()
  readonly stored: Rating[] = []
  /** Examples that the linear model was asked for. */
  readonly examples: { readonly ids: readonly number[]; readonly values: readonly number[] }[] = []
  liveVersion = 1
  /** Positions of the next appends. */
  positions: readonly StoredPosition[] = []
  /** Error of the next looks at the topic. */
  topicError: Error | undefined
  /** Sources of the job. */
  sources: RoutingTable['sources'] = []
  /** Error of the next appends. */
  appendError: Error | undefined

  constructor() {
    this.model.put('1-U', [1, 2, 3, 4])
    this.model.put('50-I', [1, 1, 1, 1])
    this.model.put('MEAN-U', [0, 0, 0, 1])
    this.model.put('MEAN-I', [1, 0, 0, 0])
  }

  /** The gateway; its routes are called with `inject`. */
  async open(
    services: Partial<GatewayServices> = {},
    options: Partial<GatewayOptions> = {},
  ): Promise<FastifyInstance> {
    return await createGateway(this.services(services), {
      ...{ version: '1.2.3', clock: systemClock, compilers: SHARED_COMPILERS },
      ...options,
    })
  }

  /** What its routes work with. */
  services(others: Partial<GatewayServices> = {}): GatewayServices {
    const topic: ObservationTopic = {
      topic: 'ratings',
      append: async (observations) => {
        if (this.appendError !== undefined) throw this.appendError
        for (const observation of observations) this.stored.push(observation)
        return this.positions
      },
      reachable: async () => {
        if (this.topicError !== undefined) throw this.topicError
      },
    }
    return { state: this.state(), observations: topic, ...others }
  }

  /** A reader of the rows. Its linear model sums feature id x value. */
  private state(): ServedState {
    const predictLinear: ServedState['predictLinear'] = async (_state, features) => {
      if (typeof features === 'string') throw new Error('its features have no names')
      const { ids, values } = features
      this.examples.push({ ids: [...ids], values: [...values] })
      const decision = ids.reduce((sum, id, i) => sum + id * values[i]!, 0)
      return { decision, label: decision > 0 ? 1 : -1, unknown: 0, modelVersion: 1 }
    }
    const reader = this.model.reader()
    const pairs: ServedState['predictPairs'] = (...args) => predictPairs(reader, ...args)
    return Object.defineProperties(reader, {
      predictPairs: { value: pairs },
      routing: { get: () => this.routing() },
      refreshRouting: { value: async () => this.routing() },
      predictLinear: { value: predictLinear },
    }) as unknown as ServedState
  }

  /** Where the states of the job are. */
  routing(): RoutingTable {
    const state = (name: string, kind: string, dimension: number, liveVersion: number) => ({
      name,
      kind,
      dimension,
      versions: liveVersion === 0 ? [] : [liveVersion],
      liveVersion,
    })
    return {
      epoch: 1,
      job: 'als',
      sources: this.sources,
      endpoints: [],
      states: [
        state('ALS_MODEL', 'vector', DIMENSION, this.liveVersion),
        state('SVM_MODEL', 'vector', 8, this.liveVersion),
        state('COUNTS', 'value', 0, 0),
      ],
    }
  }
}
