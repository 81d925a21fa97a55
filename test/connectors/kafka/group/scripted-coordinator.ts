import {
  addOffsetsToTxnV3,
  apiVersionsV0,
  findCoordinatorV4,
  heartbeatV4,
  joinGroupV9,
  leaveGroupV5,
  metadataV12,
  offsetFetchV8,
  syncGroupV5,
  txnOffsetCommitV3,
} from '@platformatic/kafka'
import { KafkaCluster } from '../../../../src/connectors/kafka/client/cluster.ts'
import type {
  BrokerAddress,
  KafkaConnection,
} from '../../../../src/connectors/kafka/client/connection.ts'
import type { KafkaClientOptions } from '../../../../src/connectors/kafka/client/options.ts'
import type { Cancel } from '../../../../src/core/clock.ts'
import { WeirError } from '../../../../src/core/errors.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'

const NAMES: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [addOffsetsToTxnV3.api, 'addOffsets'],
  [apiVersionsV0.api, 'versions'],
  [findCoordinatorV4.api, 'find'],
  [heartbeatV4.api, 'heartbeat'],
  [joinGroupV9.api, 'join'],
  [leaveGroupV5.api, 'leave'],
  [metadataV12.api, 'metadata'],
  [offsetFetchV8.api, 'fetch'],
  [syncGroupV5.api, 'sync'],
  [txnOffsetCommitV3.api, 'commit'],
])

/** A request that a broker got. */
export interface Asked {
  readonly request: string
  readonly port: number
  /** Number of the connection. */
  readonly connection: number
  readonly arguments: readonly unknown[]
}

/** A clock on which every wait is over at once. */
export class EagerClock extends ManualClock {
  override after(delayMs: number, callback: () => void): Cancel {
    const cancel = super.after(delayMs, callback)
    setImmediate(() => this.advance(delayMs))
    return cancel
  }
}

/** Brokers at the ports 1 and 2 of a host, whose answers a test writes. */
export class ScriptedCoordinator {
  readonly asked: Asked[] = []
  /** Connections in order: the port, and the time for an answer. */
  readonly connections: { readonly port: number; readonly answerTimeoutMs: number | undefined }[] =
    []
  readonly clock = new EagerClock()
  readonly notices: string[] = []
  /** Called with each notice of an outage. */
  onNotice: () => void = () => undefined
  /** Port of the coordinator. */
  coordinator = 1
  readonly down = new Set<number>()
  /** Highest version of JoinGroup that is offered. */
  joinVersion = 9
  private readonly scripts = new Map<string, unknown[]>()

  /** The next answers to a request; the last one stays. A function is called with the arguments. */
  answers(request: string, ...answers: readonly unknown[]): this {
    this.scripts.set(request, [...answers])
    return this
  }

  /** The requests of one kind. */
  of(request: string): readonly Asked[] {
    return this.asked.filter((asked) => asked.request === request)
  }

  cluster(options: Partial<KafkaClientOptions> = {}): KafkaCluster {
    return new KafkaCluster(
      { brokers: 'a:1,a:2', ...options },
      {
        connect: (address, _, answerTimeoutMs) => this.connect(address, answerTimeoutMs),
        clock: this.clock,
        random: seededRandom(1),
        onOutage: ({ message }) => {
          this.notices.push(message)
          this.onNotice()
        },
      },
    )
  }

  private async connect(
    { port }: BrokerAddress,
    answerTimeoutMs: number | undefined,
  ): Promise<KafkaConnection> {
    if (this.down.has(port)) throw new WeirError('CONNECTOR_FAILED', `${port} is down`)
    const connection = this.connections.push({ port, answerTimeoutMs }) - 1
    const ended = Promise.withResolvers<never>()
    ended.promise.catch(() => undefined)
    const state = { isOpen: true }
    const close = async (): Promise<void> => {
      state.isOpen = false
      ended.reject(new WeirError('CONNECTOR_FAILED', 'the connection was closed'))
    }
    const call = async (api: unknown, ...args: readonly unknown[]): Promise<unknown> => {
      const request = NAMES.get(api)!
      this.asked.push({ request, port, connection, arguments: args })
      const answer = await Promise.race([this.answer(request, port, args), ended.promise])
      if (!(answer instanceof Error)) return answer
      await close()
      throw answer
    }
    return {
      get isOpen() {
        return state.isOpen
      },
      call: call as KafkaConnection['call'],
      close,
    }
  }

  private answer(request: string, port: number, args: readonly unknown[]): unknown {
    const script = this.scripts.get(request)
    if (script !== undefined) {
      const next = script.length > 1 ? script.shift() : script[0]
      return typeof next === 'function' ? next(...args) : next
    }
    if (request === 'versions') {
      const apiKeys = Array.from({ length: 30 }, (_, apiKey) => ({ apiKey, maxVersion: 9 }))
      apiKeys[11] = { apiKey: 11, maxVersion: this.joinVersion }
      return { apiKeys }
    }
    if (request === 'find') {
      const { coordinator } = this
      const found = { nodeId: coordinator, host: 'a', port: coordinator, errorCode: 0 }
      return { coordinators: [found] }
    }
    throw new Error(`no answer is written for ${request} at ${port}`)
  }
}
