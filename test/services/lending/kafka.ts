import type { KafkaAccess } from '../kafka/access.ts'
import { runKafkaTool } from '../kafka/tools.ts'
import { lease } from './lease.ts'

/** Passwords of the users of the listener with SASL. `ada` may do everything, the others nothing. */
export const KAFKA_USERS = { ada: 'ada-secret', eve: 'eve-secret', bob: 'bob-secret' } as const

/** What a file must know of a shared Kafka. */
export interface SharedKafkaAccess {
  readonly bootstrap: string
  readonly saslBootstrap: string
  /** Of Kafka's tools. */
  readonly classPath: string
  /** The certificate of the listener with SASL, PEM. */
  readonly certificate: string
}

/** A Kafka without topics that other files use before and after this one. */
export interface SharedKafka extends KafkaAccess, AsyncDisposable {
  /** The certificate of the listener with SASL, PEM. */
  readonly certificate: string
}

/** Borrows a Kafka for a test file. Its topics are deleted when the file gives it back. */
export async function sharedKafka(): Promise<SharedKafka> {
  const { access, giveBack } = await lease<SharedKafkaAccess>('kafka')
  return {
    ...access,
    tool: (mainClass, args, input) => runKafkaTool(access, mainClass, args, input),
    [Symbol.asyncDispose]: async () => giveBack(),
  }
}
