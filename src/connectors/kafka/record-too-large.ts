import { isWeirError, WeirError } from '../../core/errors.ts'
import type { KafkaCluster } from './client/cluster.ts'
import { describeKafkaTopic } from './client/topics.ts'
import { singleRecord } from './refused-batch.ts'

const LIMIT = 'max.message.bytes'
const KEY_CHARACTERS = 60

/** The error of a batch of one record that is larger than its topic accepts. Never retryable. */
export async function recordTooLarge(
  cluster: KafkaCluster,
  topic: string,
  batch: { readonly partition: number; readonly bytes: Uint8Array },
): Promise<WeirError> {
  const { partition, bytes } = batch
  const size = bytes.length
  const key = shownKey(singleRecord(bytes).key())
  const limit = await limitOf(cluster, topic)
  const accepts = limit === undefined ? 'a limit that this user may not read' : `${limit} bytes`
  const message = `the record with ${key} is ${size} bytes in its batch, and topic "${topic}" accepts ${accepts} (${LIMIT}); raise ${LIMIT} of the topic, or write a smaller or compressed record`
  const details = { topic, partition, size, key, ...(limit === undefined ? {} : { limit }) }
  return new WeirError('FRAME_TOO_LARGE', message, { details })
}

async function limitOf(cluster: KafkaCluster, topic: string): Promise<number | undefined> {
  try {
    const limit = Number((await describeKafkaTopic(cluster, topic))[LIMIT])
    return Number.isFinite(limit) ? limit : undefined
  } catch (error) {
    if (isWeirError(error)) return undefined
    throw error
  }
}

/** A key in words, for messages. */
export function shownKey(key: Uint8Array | null): string {
  if (key === null) return 'no key'
  const text = new TextDecoder().decode(key)
  return `key ${JSON.stringify(text.length > KEY_CHARACTERS ? `${text.slice(0, KEY_CHARACTERS)}...` : text)}`
}
