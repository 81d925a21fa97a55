import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import type { KafkaClientOptions, SaslOptions } from '../connectors/kafka/kafka-options.ts'
import { openTopics, type TopicsPlace } from '../connectors/topics/open-topics.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { type Flags, type OptionSpec, UsageError } from './command.ts'
import { dataDirectory } from './data-directory.ts'

const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const

/** Flags that say how a Kafka is reached. */
export const KAFKA_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  brokers: {
    type: 'string',
    value: 'HOST:PORT,...',
    help: 'Kafka that holds the topics (default: the embedded log of --data-dir)',
  },
  'sasl-mechanism': {
    type: 'string',
    value: 'NAME',
    help: 'PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512',
  },
  'sasl-username': { type: 'string', value: 'NAME', help: 'User at the Kafka' },
  'sasl-password': {
    type: 'string',
    isSecret: true,
    help: "The user's password",
  },
  'sasl-password-file': {
    type: 'string',
    value: 'FILE',
    help: 'File that holds the password (or WEIR_SASL_PASSWORD)',
  },
  tls: { type: 'boolean', help: 'Encrypt, and trust the authorities that Node trusts' },
  'tls-ca': { type: 'string', value: 'FILE', help: 'Encrypt, and trust this authority (PEM)' },
  'tls-cert': { type: 'string', value: 'FILE', help: 'Certificate to show (PEM)' },
  'tls-key': { type: 'string', value: 'FILE', help: 'Key of that certificate (PEM)' },
}

/** How the Kafka of `--brokers` is reached; undefined without it. Throws UsageError. */
export function kafkaOptionsOf(flags: Flags): KafkaClientOptions | undefined {
  const brokers = flags.optional('brokers')
  const sasl = saslOf(flags)
  const tls = tlsOf(flags)
  if (brokers === undefined) return undefined
  return {
    brokers,
    ...(sasl === undefined ? {} : { sasl }),
    ...(tls === undefined ? {} : { tls }),
  }
}

/** Where the topics of a command are: Kafka with `--brokers`, else the log of the data folder. */
export function topicsPlaceOf(flags: Flags): TopicsPlace {
  const kafka = kafkaOptionsOf(flags)
  if (kafka !== undefined) return { kafka }
  return { logDirectory: dataDirectory(flags.string('data-dir')).log }
}

/** The topics of a command. */
export function topicsOf(flags: Flags): Promise<TopicStore> {
  return openTopics(topicsPlaceOf(flags))
}

function saslOf(flags: Flags): SaslOptions | undefined {
  const username = flags.optional('sasl-username')
  const mechanism = flags.optional('sasl-mechanism')
  if (username === undefined && mechanism === undefined) return undefined
  if (username === undefined) throw new UsageError('--sasl-mechanism needs --sasl-username')
  if (mechanism === undefined) {
    throw new UsageError(`--sasl-username needs --sasl-mechanism: ${MECHANISMS.join(', ')}`)
  }
  return {
    mechanism: flags.choice('sasl-mechanism', MECHANISMS),
    username,
    password: passwordOf(flags),
  }
}

function passwordOf(flags: Flags): string {
  const file = flags.optional('sasl-password-file')
  if (file !== undefined) return readText('sasl-password-file', file).replace(/\r?\n$/, '')
  const password = flags.optional('sasl-password')
  if (password !== undefined) return password
  throw new UsageError(
    '--sasl-username needs a password: set WEIR_SASL_PASSWORD or give --sasl-password-file FILE',
  )
}

function tlsOf(flags: Flags): true | ConnectionOptions | undefined {
  const files: Record<string, string> = {}
  for (const name of ['ca', 'cert', 'key'] as const) {
    const file = flags.optional(`tls-${name}`)
    if (file !== undefined) files[name] = readText(`tls-${name}`, file)
  }
  if ((files['cert'] === undefined) !== (files['key'] === undefined)) {
    throw new UsageError('--tls-cert and --tls-key belong together')
  }
  if (Object.keys(files).length > 0) return files
  return flags.boolean('tls') ? true : undefined
}

function readText(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`--${flag}: cannot read ${file}: ${(error as Error).message}`)
  }
}
