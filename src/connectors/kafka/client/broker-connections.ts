import type { Clock } from '../../../core/clock.ts'
import { isWeirError, messageOf, WeirError } from '../../../core/errors.ts'
import type { Random } from '../../../core/random.ts'
import type { BrokerAddress, ConnectKafka, KafkaConnection } from './connection.ts'

/** Purpose of a connection: requests that wait have separate ones. */
export type ConnectionPurpose = 'main' | 'fetch' | 'produce'

/** Surroundings of the connections. */
export interface BrokerWorld {
  readonly connect: ConnectKafka
  readonly random: Random
  readonly clock: Clock
  /** Called while no broker can be reached, with growing pauses, and when one can be reached again. */
  readonly onOutage?: ((notice: WeirError) => void) | undefined
}

/** Time without a connection after which it is said, ms; each further notice comes after twice the time. */
const FIRST_NOTICE_MS = 3_000
/** Longest time between two notices, ms. */
const LONGEST_PAUSE_MS = 300_000

/**
 * The time in which attempts to connect to the brokers of one Kafka fail. It begins with the first attempt that
 * fails, and ends with one that succeeds.
 */
export class BrokerOutage {
  private readonly clock: Clock
  private readonly say: (notice: WeirError) => void
  /** When it began, on both clocks; undefined while there is none. */
  private began: { readonly atMs: number; readonly monotonicMs: number } | undefined
  private nextNoticeMs = FIRST_NOTICE_MS

  constructor(clock: Clock, say: (notice: WeirError) => void) {
    this.clock = clock
    this.say = say
  }

  /** How long it lasts, ms; 0 while there is none. */
  get lastsMs(): number {
    return this.began === undefined ? 0 : this.clock.monotonicMs() - this.began.monotonicMs
  }

  /** An attempt that began at a monotonic time has failed. */
  failed(startedMs: number, error: unknown): void {
    const { clock } = this
    const sinceMs = clock.monotonicMs() - startedMs
    this.began ??= { atMs: clock.nowMs() - sinceMs, monotonicMs: startedMs }
    if (this.lastsMs < this.nextNoticeMs) return
    const since = timeOf(this.began.atMs)
    const seconds = Math.round(this.nextNoticeMs / 1000)
    this.nextNoticeMs += Math.min(this.nextNoticeMs, LONGEST_PAUSE_MS)
    const message = `waiting for Kafka since ${since}, for ${seconds} s or more: ${messageOf(error)}; work goes on when a broker answers`
    this.say(new WeirError('CONNECTOR_FAILED', message))
  }

  /** An attempt has succeeded. */
  ended(): void {
    if (this.began === undefined) return
    const wasSaid = this.nextNoticeMs > FIRST_NOTICE_MS
    const since = timeOf(this.began.atMs)
    this.began = undefined
    this.nextNoticeMs = FIRST_NOTICE_MS
    if (!wasSaid) return
    this.say(
      new WeirError('CONNECTOR_FAILED', `Kafka can be reached again, after a wait since ${since}`),
    )
  }
}

/** A time of the day, UTC, to the second. */
function timeOf(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(11, 19)} UTC`
}

/** The connections to the brokers of one Kafka, by node and purpose; each opens with its first use. */
export class BrokerConnections {
  private readonly bootstrap: readonly BrokerAddress[]
  private readonly world: BrokerWorld
  private readonly closing = new AbortController()
  private readonly nodes = new Map<number, BrokerAddress>()
  private readonly connections = new Map<string, Promise<KafkaConnection>>()
  /** The time in which no broker can be reached. */
  readonly outage: BrokerOutage

  /** `bootstrap` are the addresses to use while no node answers. */
  constructor(bootstrap: readonly BrokerAddress[], world: BrokerWorld) {
    this.bootstrap = bootstrap
    this.world = world
    this.outage = new BrokerOutage(world.clock, (notice) => world.onOutage?.(notice))
  }

  /** Stores the address of a node. */
  add(nodeId: number, address: BrokerAddress): void {
    this.nodes.set(nodeId, address)
  }

  /** Whether the address of a node is known. */
  has(nodeId: number): boolean {
    return this.nodes.has(nodeId)
  }

  /** Ids of the nodes whose addresses are known. */
  ids(): number[] {
    return [...this.nodes.keys()]
  }

  /** A connection to a node. Rejects with CONNECTOR_FAILED if its address is not known. */
  async node(nodeId: number, purpose: ConnectionPurpose): Promise<KafkaConnection> {
    const address = this.nodes.get(nodeId)
    if (address === undefined) {
      throw new WeirError('CONNECTOR_FAILED', `Kafka node ${nodeId} is not available now`)
    }
    return await this.connection(`${nodeId}/${purpose}`, address)
  }

  /** A connection to the first broker that answers: known nodes in random order, then bootstrap. */
  async any(): Promise<KafkaConnection> {
    let failure: unknown
    for (const [name, address] of this.candidates()) {
      try {
        return await this.connection(name, address)
      } catch (error) {
        if (!isWeirError(error) || !error.retryable) throw error
        failure = error
      }
    }
    throw failure
  }

  /** Names and addresses of connections to any broker, in the order in which to try them. */
  private candidates(): readonly (readonly [string, BrokerAddress])[] {
    const { random } = this.world
    const known = [...this.nodes].map(([id, address]) => ({ id, address, order: random.next() }))
    known.sort((a, b) => a.order - b.order)
    return [
      ...known.map(({ id, address }) => [`${id}/main`, address] as const),
      ...this.bootstrap.map((address) => [`${address.host}:${address.port}`, address] as const),
    ]
  }

  private async connection(name: string, address: BrokerAddress): Promise<KafkaConnection> {
    if (this.closing.signal.aborted) {
      throw new WeirError('ILLEGAL_STATE', 'the Kafka client was closed')
    }
    const existing = this.connections.get(name)
    if (existing !== undefined) {
      const connection = await existing
      if (connection.isOpen) return connection
      if (this.connections.get(name) !== existing) return await this.connection(name, address)
    }
    const startedMs = this.world.clock.monotonicMs()
    const connecting = this.world.connect(address, this.closing.signal)
    this.connections.set(name, connecting)
    try {
      const connection = await connecting
      this.outage.ended()
      return connection
    } catch (error) {
      if (this.connections.get(name) === connecting) this.connections.delete(name)
      if (isWeirError(error) && error.retryable) this.outage.failed(startedMs, error)
      throw error
    }
  }

  /** Closes every connection, also those that are being opened. Requests without an answer fail. */
  async close(): Promise<void> {
    this.closing.abort()
    const connections = [...this.connections.values()]
    this.connections.clear()
    await Promise.all(
      connections.map(async (connecting) => {
        const connection = await connecting.catch(() => undefined)
        await connection?.close()
      }),
    )
  }
}
