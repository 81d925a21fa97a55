import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KafkaClientOptions } from '../../src/connectors/kafka/client/options.ts'
import { KAFKA_USERS, type SharedKafka } from '../services/lending/kafka.ts'

/** Where a machine has its topics, if not in the embedded log of its data folder. */
export interface Storage {
  /** Of a program. */
  readonly kafka: KafkaClientOptions
  /** Flags of a command. */
  readonly flags: readonly string[]
  /** Flags of a JobManager whose jobs have their topics there. */
  readonly ofJobManager: readonly string[]
}

/** A Kafka whose listener is open. */
export function openKafka({ bootstrap: brokers }: Pick<SharedKafka, 'bootstrap'>): Storage {
  const flags = ['--brokers', brokers]
  return { kafka: { brokers }, flags, ofJobManager: flags }
}

/** A Kafka that lets in only users with a password, over TLS. `folder` gets the password and the certificate. */
export function securedKafka(
  { saslBootstrap: brokers, certificate }: SharedKafka,
  folder: string,
): Storage {
  const username = 'ada'
  const password = KAFKA_USERS[username]
  const passwordFile = join(folder, 'kafka-password')
  const authority = join(folder, 'kafka-ca.pem')
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  writeFileSync(authority, certificate)
  const address = ['--brokers', brokers]
  const login = ['--sasl-mechanism', 'PLAIN', '--sasl-username', username]
  return {
    kafka: { brokers, sasl: { mechanism: 'PLAIN', username, password }, tls: { ca: certificate } },
    flags: [...address, ...login, '--sasl-password-file', passwordFile, '--tls-ca', authority],
    ofJobManager: [...address, '--allow-files', folder],
  }
}
