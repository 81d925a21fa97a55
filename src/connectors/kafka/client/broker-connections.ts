import type { Clock } from '../../../core/clock.ts'
import { isWeirError, WeirError } from '../../../core/errors.ts'
import { Outage, type OutageListener } from '../../../core/lifetime/outage.ts'
import type { Random } from '../../../core/random.ts'
import type { BrokerAddress, ConnectKafka, KafkaConnection } from './connection.ts'

/** Connection to each broker for the requests of one owner, which wait for other processes. */
export interface OwnConnection {
  /** Name that no other owner has. */
  readonly name: string
  /** Time for an answer, ms. */
  readonly answerTimeoutMs: number
}

/** Purpose of a connection: requests that wait have separate ones. */
export type ConnectionPurpose = 'main' | 'fetch' | 'produce' | OwnConnection

/** Surroundings of the connections. */
export interface BrokerWorld {
  readonly connect: ConnectKafka
  readonly random: Random
  readonly clock: Clock
  /** Called while no broker can be reached, with growing pauses, and when one can be reached again. */
  readonly onOutage?: OutageListener | undefined
}

/** The connections to the brokers of one Kafka, by node and purpose; each opens with its first use. */
export class BrokerConnections {
  private readonly bootstrap: readonly BrokerAddress[]
  private readonly world: BrokerWorld
  private readonly closing = new AbortController()
  private readonly nodes = new Map<number, BrokerAddress>()
  private readonly connections = new Map<string, Promise<KafkaConnection>>()
  private owners = 0
  /** The time in which no broker can be reached. */
  readonly outage: Outage

  /** `bootstrap` are the addresses to use while no node answers. */
  constructor(bootstrap: readonly BrokerAddress[], world: BrokerWorld) {
    this.bootstrap = bootstrap
    this.world = world
    this.outage = new Outage('Kafka', world.clock, (notice) => world.onOutage?.(notice))
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
    if (typeof purpose === 'string') return await this.connection(`${nodeId}/${purpose}`, address)
    const { name, answerTimeoutMs } = purpose
    return await this.connection(`${nodeId}/${name}`, address, answerTimeoutMs)
  }

  /** A name for the connections of one owner, which opens them with its first requests. */
  own(answerTimeoutMs: number): OwnConnection {
    this.owners += 1
    return { name: `own ${this.owners}`, answerTimeoutMs }
  }

  /** Closes the connections of one owner. Requests without an answer fail. */
  async closeOwn({ name }: OwnConnection): Promise<void> {
    const own = [...this.connections].filter(([key]) => key.endsWith(`/${name}`))
    for (const [key] of own) this.connections.delete(key)
    await Promise.all(own.map(([, connecting]) => closed(connecting)))
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

  private async connection(
    name: string,
    address: BrokerAddress,
    answerTimeoutMs?: number,
  ): Promise<KafkaConnection> {
    if (this.closing.signal.aborted) {
      throw new WeirError('ILLEGAL_STATE', 'the Kafka client was closed')
    }
    const existing = this.connections.get(name)
    if (existing !== undefined) {
      const connection = await existing
      if (connection.isOpen) return connection
      if (this.connections.get(name) !== existing) {
        return await this.connection(name, address, answerTimeoutMs)
      }
    }
    const startedMs = this.world.clock.monotonicMs()
    const connecting = this.world.connect(address, this.closing.signal, answerTimeoutMs)
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
    await Promise.all(connections.map(closed))
  }
}

/** Closes a connection, also one that is being opened. */
async function closed(connecting: Promise<KafkaConnection>): Promise<void> {
  const connection = await connecting.catch(() => undefined)
  await connection?.close()
}
