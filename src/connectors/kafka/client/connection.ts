import { isIP } from 'node:net'
import { messageOf, WeirError } from '../../../core/errors.ts'
import { type AnswerWatch, watchAnswers } from './answers/answer-sizes.ts'
import { apiVersionsV0, Connection, ResponseError } from './library.ts'
import {
  DEFAULT_CLIENT_ID,
  DEFAULT_CONNECT_TIMEOUT_MS,
  DEFAULT_REQUEST_TIMEOUT_MS,
  type KafkaClientOptions,
} from './options.ts'
import { checkVersions } from './versions.ts'

/** Address of a broker. */
export interface BrokerAddress {
  readonly host: string
  readonly port: number
}

/** A request of the protocol and its answer. Written down here, so that users of Weir need no types of the library. */
export interface KafkaApi<Arguments extends unknown[], Answer> {
  async(connection: object, ...args: Arguments): Promise<Answer>
}

/**
 * The narrow port to the connection library: one connection to one broker, with answers in the order
 * of the requests. A broker's error numbers are in the answer; every other failure is thrown as
 * CONNECTOR_FAILED (retryable) or UNAUTHENTICATED.
 */
export interface KafkaConnection {
  readonly isOpen: boolean
  call<Arguments extends unknown[], Answer>(
    api: KafkaApi<Arguments, Answer>,
    ...args: Arguments
  ): Promise<Answer>
  close(): Promise<void>
}

/**
 * Function that makes connections, which tests replace. When the signal is aborted, an attempt that waits
 * for its broker fails at once. `answerTimeoutMs` replaces that of the options.
 */
export type ConnectKafka = (
  address: BrokerAddress,
  signal: AbortSignal,
  answerTimeoutMs?: number,
) => Promise<KafkaConnection>

/** Connections over TCP or TLS, with SASL, on the library's `Connection`. */
export function kafkaConnector(options: KafkaClientOptions): ConnectKafka {
  return async (address, signal, answerTimeoutMs = options.requestTimeoutMs) => {
    const clientId = options.clientId ?? DEFAULT_CLIENT_ID
    const connection = new Connection(clientId, libraryOptions(options, address, answerTimeoutMs))
    // Callers get the error with their answers; without a listener it would end the process.
    connection.on('error', () => undefined)
    const aborted = Promise.withResolvers<never>()
    const abort = (): void => {
      void connection.close().catch(() => undefined)
      aborted.reject(new WeirError('ILLEGAL_STATE', 'the Kafka client was closed'))
    }
    signal.addEventListener('abort', abort, { once: true })
    try {
      return await Promise.race([openConnection(connection, address, options), aborted.promise])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }
}

async function openConnection(
  connection: Connection,
  address: BrokerAddress,
  options: KafkaClientOptions,
): Promise<KafkaConnection> {
  const name = `${address.host}:${address.port}`
  const hasTls = options.tls !== undefined && options.tls !== false
  const connecting = connection.connect(address.host, address.port)
  const answers = watchAnswers(connection.socket, name)
  try {
    await connecting
  } catch (cause) {
    await connection.close().catch(() => undefined)
    throw answers.refusal ?? connectError(address, cause, hasTls)
  }
  const ready = new LibraryConnection(connection, name, answers)
  try {
    checkVersions(name, (await ready.call(apiVersionsV0.api, '', '')).apiKeys)
  } catch (error) {
    await ready.close()
    throw hasTls || answers.hasAnswered ? error : plainRefused(name, error)
  }
  return ready
}

function libraryOptions(
  options: KafkaClientOptions,
  address: BrokerAddress,
  requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS,
) {
  const { connectTimeoutMs, sasl, tls = false } = options
  return {
    connectTimeout: connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
    requestTimeout: requestTimeoutMs,
    // One fetch that waits, or one batch per partition: there are never more than a few.
    maxInflights: 5,
    ...(sasl === undefined ? {} : { sasl: { ...sasl } }),
    ...(tls === false
      ? {}
      : { tls: tls === true ? {} : tls, tlsServerName: isIP(address.host) === 0 }),
  }
}

class LibraryConnection implements KafkaConnection {
  private readonly connection: Connection
  private readonly name: string
  private readonly answers: AnswerWatch

  constructor(connection: Connection, name: string, answers: AnswerWatch) {
    this.connection = connection
    this.name = name
    this.answers = answers
  }

  get isOpen(): boolean {
    return this.connection.isConnected()
  }

  async call<Arguments extends unknown[], Answer>(
    api: KafkaApi<Arguments, Answer>,
    ...args: Arguments
  ): Promise<Answer> {
    try {
      return await api.async(this.connection, ...args)
    } catch (cause) {
      // The library throws when any part of an answer has an error number; callers check the parts.
      const answer = (cause as { readonly response?: Answer }).response
      if (cause instanceof ResponseError && answer !== undefined) return answer
      // After any other error it is unknown what the broker still sends.
      await this.close()
      const failure = `Kafka at ${this.name}: ${messageOf(cause)}`
      throw this.answers.refusal ?? new WeirError('CONNECTOR_FAILED', failure, { cause })
    }
  }

  async close(): Promise<void> {
    await this.connection.close().catch(() => undefined)
  }
}

function connectError(address: BrokerAddress, cause: unknown, tls: boolean): WeirError {
  const at = `${address.host}:${address.port}`
  const chain = causesOf(cause)
  const inLogin = chain.some((error) => 'code' in error && error.code === 'PLT_KFK_AUTHENTICATION')
  if (inLogin && chain.some((error) => error instanceof ResponseError)) {
    const message = `Kafka at ${at} rejects the user; check sasl.username, password and mechanism`
    return new WeirError('UNAUTHENTICATED', message, { cause })
  }
  if (inLogin) {
    const advice = tls
      ? 'check that the listener has SASL'
      : 'the listener may need TLS, which is not set (option tls, flag --tls)'
    const message = `Kafka at ${at} did not answer the login: ${messageOf(deepest(cause))}; ${advice}`
    return new WeirError('CONNECTOR_FAILED', message, { cause })
  }
  const why = messageOf(deepest(cause))
  const message =
    (tls ? tlsRefused(at, why) : undefined) ?? `no connection to Kafka at ${at}: ${why}`
  return new WeirError('CONNECTOR_FAILED', message, { cause })
}

/** Why TLS was not established, where the listener may speak plain; undefined for other reasons. */
function tlsRefused(at: string, why: string): string | undefined {
  const leaveOut = 'leave out the option tls (--tls and the flags that begin so)'
  // OpenSSL's names of a first record that is no TLS.
  if (/wrong version number|packet length too long/i.test(why)) {
    return `Kafka at ${at} speaks plain, and TLS was asked for; ${leaveOut}`
  }
  // A broker closes a connection whose first bytes are none of its requests.
  if (!/disconnected before secure TLS/i.test(why)) return undefined
  return `no connection to Kafka at ${at}: ${why}; if the listener speaks plain, ${leaveOut}`
}

/** The error of a connection that ended before a word: a listener that speaks TLS says so by an alert, or closes. */
function plainRefused(name: string, cause: unknown): WeirError {
  const ask = 'ask for it with the option tls (--tls, or --tls-ca FILE)'
  const message = messageOf(cause).includes('requires TLS')
    ? `Kafka at ${name} speaks TLS, and plain was asked for; ${ask}`
    : `${messageOf(cause)}; if the listener speaks TLS, ${ask}`
  return new WeirError('CONNECTOR_FAILED', message, { cause })
}

/** An error, its cause, the cause of that, and so on. */
function causesOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : []
}

function deepest(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? deepest(error.cause) : error
}

/** Parses `host:port,host:port`, with IPv6 hosts in brackets. Throws INVALID_ARGUMENT. */
export function parseBrokers(brokers: string): BrokerAddress[] {
  return brokers.split(',').map((part) => {
    const match = /^(?:\[([^\]]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(part.trim())
    const port = Number(match?.[3])
    if (match === null || port < 1 || port > 65_535) {
      throw new WeirError('INVALID_ARGUMENT', `"${part}" is not a broker; write host:port`)
    }
    return { host: (match[1] ?? match[2])!, port }
  })
}
