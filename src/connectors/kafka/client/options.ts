import type { ConnectionOptions } from 'node:tls'
import {
  either,
  flag,
  name,
  objectWith,
  oneOf,
  positiveMilliseconds,
  required,
  text,
} from '../../../core/options/kinds.ts'
import { nested, type OptionShape } from '../../../core/options/shape.ts'

/** Credentials of a user. */
export interface SaslOptions {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  readonly username: string
  readonly password: string
}

/** Options of the connections to the brokers. */
export interface KafkaClientOptions {
  /** `host:port` of one or more brokers, separated by commas; the others are found through them. */
  readonly brokers: string
  /** Name in the brokers' logs and quotas; default `weir`. */
  readonly clientId?: string
  readonly sasl?: SaslOptions
  /** True or Node's TLS options encrypt the connections; default false. */
  readonly tls?: boolean | ConnectionOptions
  /** Time for a connection, authentication included, in ms; default 5,000. */
  readonly connectTimeoutMs?: number
  /** Time for an answer in ms, after which the connection is closed; default 30,000. */
  readonly requestTimeoutMs?: number
  /** Time in which a failed operation is repeated, in ms; default 120,000. */
  readonly deliveryTimeoutMs?: number
  /** Time after which a producer uses partitions that were added to its topic, in ms; default 300,000. */
  readonly metadataMaxAgeMs?: number
}

/** The options of the connections to the brokers. */
export const KAFKA_CLIENT: OptionShape<KafkaClientOptions> = {
  brokers: required(name),
  clientId: name,
  sasl: nested<SaslOptions>({
    mechanism: required(oneOf('PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512')),
    username: required(text),
    password: required(text),
  }),
  // Options of Node are checked by Node.
  tls: either(flag, objectWith("Node's TLS options")),
  connectTimeoutMs: positiveMilliseconds,
  requestTimeoutMs: positiveMilliseconds,
  deliveryTimeoutMs: positiveMilliseconds,
  metadataMaxAgeMs: positiveMilliseconds,
}

/**
 * Kafka's name of the user of connections with these options, by its default rules; undefined if the
 * certificate of the client has it.
 */
export function principalOf({ sasl, tls }: KafkaClientOptions): string | undefined {
  if (sasl !== undefined) return `User:${sasl.username}`
  const hasCertificate = typeof tls === 'object' && tls.cert !== undefined
  return hasCertificate ? undefined : 'User:ANONYMOUS'
}

/** Default of `clientId`. */
export const DEFAULT_CLIENT_ID = 'weir'
/** Default of `connectTimeoutMs`. */
export const DEFAULT_CONNECT_TIMEOUT_MS = 5_000
/** Default of `requestTimeoutMs`. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 30_000
/** Default of `deliveryTimeoutMs`. */
export const DEFAULT_DELIVERY_TIMEOUT_MS = 120_000
/** Default of `metadataMaxAgeMs`, as `metadata.max.age.ms` of other clients. */
export const DEFAULT_METADATA_MAX_AGE_MS = 300_000
/** Default of `transactionTimeoutMs`: the default limit of a broker. */
export const DEFAULT_TRANSACTION_TIMEOUT_MS = 900_000
