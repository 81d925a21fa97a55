import type { ConnectionOptions } from 'node:tls'

/** How a user proves who he is. */
export interface SaslOptions {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  readonly username: string
  readonly password: string
}

/** How brokers are reached. */
export interface KafkaClientOptions {
  /** `host:port` of one or more brokers, joined by commas; the others are found through them. */
  readonly brokers: string
  /** Name in the brokers' logs and quotas; default `weir`. */
  readonly clientId?: string
  readonly sasl?: SaslOptions
  /** True or Node's TLS options to encrypt; default plain. */
  readonly tls?: boolean | ConnectionOptions
  /** Time for a connection, authentication included, in ms; default 5,000. */
  readonly connectTimeoutMs?: number
  /** Time for an answer in ms, after which the connection is given up; default 30,000. */
  readonly requestTimeoutMs?: number
  /** Time in which an operation is tried again and again in ms; default 120,000. */
  readonly deliveryTimeoutMs?: number
}

export const DEFAULT_CLIENT_ID = 'weir'
export const DEFAULT_CONNECT_TIMEOUT_MS = 5_000
export const DEFAULT_REQUEST_TIMEOUT_MS = 30_000
export const DEFAULT_DELIVERY_TIMEOUT_MS = 120_000
