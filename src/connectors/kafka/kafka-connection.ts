import { isIP } from 'node:net'
import type { API } from '@platformatic/kafka'
import { messageOf, WeirError } from '../../core/errors.ts'
import { apiVersionsV0, Connection, ResponseError } from './kafka-library.ts'
import {
  DEFAULT_CLIENT_ID,
  DEFAULT_CONNECT_TIMEOUT_MS,
  DEFAULT_REQUEST_TIMEOUT_MS,
  type KafkaClientOptions,
} from './kafka-options.ts'
import { checkVersions } from './kafka-versions.ts'

/** Where a broker listens. */
export interface BrokerAddress {
  readonly host: string
  readonly port: number
}

/**
 * The narrow port to the connection library: one connection to one broker, answers in the order of
 * the requests. A broker's error numbers are left in the answer; whatever else goes wrong is thrown
 * as CONNECTOR_FAILED (retryable) or UNAUTHENTICATED.
 */
export interface KafkaConnection {
  readonly isOpen: boolean
  call<Arguments extends unknown[], Answer>(
    api: API<Arguments, Answer>,
    ...args: Arguments
  ): Promise<Answer>
  close(): Promise<void>
}

/** Makes connections; tests give their own. */
export type ConnectKafka = (address: BrokerAddress) => Promise<KafkaConnection>

/** The real thing: TCP or TLS, SASL, on the library's `Connection`. */
export function kafkaConnector(options: KafkaClientOptions): ConnectKafka {
  return async (address) => {
    const connection = new Connection(options.clientId ?? DEFAULT_CLIENT_ID, {
      connectTimeout: options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
      requestTimeout: options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS,
      // A fetch that waits and produce requests that overtake nothing: never more than a few.
      maxInflights: 5,
      ...(options.sasl === undefined ? {} : { sasl: { ...options.sasl } }),
      ...(options.tls === undefined || options.tls === false
        ? {}
        : {
            tls: options.tls === true ? {} : options.tls,
            tlsServerName: isIP(address.host) === 0,
          }),
    })
    // An error is told to whoever waits for an answer; without a listener it would end the process.
    connection.on('error', () => undefined)
    try {
      await connection.connect(address.host, address.port)
    } catch (cause) {
      await connection.close().catch(() => undefined)
      throw connectError(address, cause)
    }
    const name = `${address.host}:${address.port}`
    const ready = new LibraryConnection(connection, name)
    try {
      checkVersions(name, (await ready.call(apiVersionsV0.api, '', '')).apiKeys)
    } catch (error) {
      await ready.close()
      throw error
    }
    return ready
  }
}

class LibraryConnection implements KafkaConnection {
  private readonly connection: Connection
  private readonly name: string

  constructor(connection: Connection, name: string) {
    this.connection = connection
    this.name = name
  }

  get isOpen(): boolean {
    return this.connection.isConnected()
  }

  async call<Arguments extends unknown[], Answer>(
    api: API<Arguments, Answer>,
    ...args: Arguments
  ): Promise<Answer> {
    try {
      return await api.async(this.connection, ...args)
    } catch (cause) {
      // The library throws when any part of an answer has an error number; we look at the parts.
      const answer = (cause as { readonly response?: Answer }).response
      if (cause instanceof ResponseError && answer !== undefined) return answer
      // After anything else it is not known what the peer will still send.
      await this.close()
      throw new WeirError('CONNECTOR_FAILED', `Kafka at ${this.name}: ${messageOf(cause)}`, {
        cause,
      })
    }
  }

  async close(): Promise<void> {
    await this.connection.close().catch(() => undefined)
  }
}

function connectError(address: BrokerAddress, cause: unknown): WeirError {
  const at = `${address.host}:${address.port}`
  for (let error = cause; error instanceof Error; error = error.cause) {
    if ((error as { readonly code?: unknown }).code === 'PLT_KFK_AUTHENTICATION') {
      const message = `Kafka at ${at} refuses the user; check sasl.username, password and mechanism`
      return new WeirError('UNAUTHENTICATED', message, { cause })
    }
  }
  const message = `no connection to Kafka at ${at}: ${messageOf(deepest(cause))}`
  return new WeirError('CONNECTOR_FAILED', message, { cause })
}

function deepest(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? deepest(error.cause) : error
}

/** Reads `host:port,host:port`; IPv6 hosts stand in brackets. Throws INVALID_ARGUMENT. */
export function parseBrokers(brokers: string): BrokerAddress[] {
  return brokers.split(',').map((part) => {
    const match = /^(?:\[([^\]]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(part.trim())
    const port = Number(match?.[3])
    if (match === null || port < 1 || port > 65_535) {
      throw new WeirError('INVALID_ARGUMENT', `"${part}" is no broker; write host:port`)
    }
    return { host: (match[1] ?? match[2])!, port }
  })
}
