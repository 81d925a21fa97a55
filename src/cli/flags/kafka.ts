import type { KafkaClientOptions, SaslOptions } from '../../connectors/kafka/client/options.ts'
import type { KafkaTopics } from '../../connectors/topics/kafka-topics.ts'
import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { printableLines } from '../../core/text/printable.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import { type Flags, needs, type OptionSpec, UsageError } from '../command/command.ts'
import { textOfFile } from '../command/text-file.ts'
import { addresses, path } from '../flag-kinds/places.ts'
import { name, secret, word } from '../flag-kinds/words.ts'
import { type ClientTls, clientTlsOf } from './client-tls.ts'

const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const

/** Flags of a connection to Kafka. */
export const KAFKA_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  brokers: {
    type: 'string',
    value: addresses,
    help: 'Use the topics of this Kafka (default: those of the embedded log in --data-dir)',
  },
  'sasl-mechanism': {
    type: 'string',
    needs: [needs('brokers'), needs('sasl-username')],
    value: word(MECHANISMS, 'NAME'),
    help: 'PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512',
  },
  'sasl-username': {
    type: 'string',
    needs: [needs('brokers'), needs('sasl-mechanism')],
    value: name(),
    help: 'Kafka user',
  },
  'sasl-password': {
    type: 'string',
    value: secret,
    isSecret: true,
    help: 'Password of the user',
  },
  'sasl-password-file': {
    type: 'string',
    needs: [needs('sasl-username')],
    value: path(),
    help: 'File with the password (or set WEIR_SASL_PASSWORD)',
  },
  tls: {
    type: 'boolean',
    needs: [needs('brokers')],
    help: 'Encrypt; trust the certificate authorities of Node',
  },
  'tls-ca': {
    type: 'string',
    needs: [needs('brokers')],
    value: path(),
    help: 'Encrypt; trust this certificate authority (PEM)',
  },
  'tls-cert': {
    type: 'string',
    needs: [needs('brokers'), needs('tls-key')],
    value: path(),
    help: 'Client certificate (PEM)',
  },
  'tls-key': {
    type: 'string',
    needs: [needs('brokers'), needs('tls-cert')],
    value: path(),
    help: 'Private key of the client certificate (PEM)',
  },
}

/** Options of the connection to `--brokers`; undefined without the flag. Throws UsageError. */
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

/** Place of a command's topics: Kafka with `--brokers`, else the embedded log of `--data-dir`. */
export function topicsPlaceOf(flags: Flags): TopicsPlace {
  const kafka = kafkaOptionsOf(flags)
  if (kafka !== undefined) return { kafka }
  return { logDirectory: dataDirectory(flags.string('data-dir')).log }
}

/** Opens the topics of a command, which says when the brokers do not answer. */
export async function topicsOf(flags: Flags): Promise<TopicStore> {
  const place = topicsPlaceOf(flags)
  if (place.kafka === undefined) return await openTopics(place)
  return await kafkaTopicsOf(place.kafka, flags)
}

/** The topics of a Kafka. Notices that no broker answers are lines of the standard error, in the form of `--log-format`. */
export async function kafkaTopicsOf(
  options: KafkaClientOptions,
  flags: Flags,
): Promise<KafkaTopics> {
  const [{ KafkaTopics }, { withJsonLog }] = await Promise.all([
    import('../../connectors/topics/kafka-topics.ts'),
    import('../command/json-lines.ts'),
  ])
  const text = {
    err: (line: string): void => void process.stderr.write(`${printableLines(line)}\n`),
  }
  const log = flags.optional('log-format') === 'json' ? withJsonLog(text, Date.now) : text
  return new KafkaTopics(options, ({ message }) => log.err(`warning: ${message}`))
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
  if (file !== undefined) return textOfFile('--sasl-password-file', file).replace(/\r?\n$/, '')
  const password = flags.optional('sasl-password')
  if (password !== undefined) return password
  throw new UsageError(
    '--sasl-username needs a password: set WEIR_SASL_PASSWORD or use --sasl-password-file FILE',
  )
}

function tlsOf(flags: Flags): true | ClientTls | undefined {
  const files = clientTlsOf(flags, 'tls')
  return files === undefined || Object.keys(files).length > 0 ? files : true
}
