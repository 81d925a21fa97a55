import { isWeirError, WeirError } from '../../core/errors.ts'
import type { RecordView } from '../records/topic-record.ts'
import type { KafkaCluster } from './client/cluster.ts'
import { kafkaErrorEntry } from './client/error-table.ts'
import { KAFKA_ERRORS } from './client/errors.ts'
import { describeKafkaTopic } from './client/topics.ts'
import { singleRecord } from './refused-batch.ts'

/** A batch of one record that a broker refused. */
export interface RefusedRecord {
  readonly partition: number
  readonly bytes: Uint8Array
}

/** Why a broker refused a record. */
export interface Refusal {
  readonly error: number
  /** The words of the broker. */
  readonly detail: string | null | undefined
}

/** Handles a record that the topic of a sink refuses; resolves when it may be left out. */
export type LeaveOut = (record: RecordView, refusal: WeirError) => Promise<void>

/** What the topic's settings have to do with a refusal, and what a writer can change, by error number. */
const CAUSES: Readonly<
  Record<number, { readonly settings: readonly string[]; readonly advice: string }>
> = {
  [KAFKA_ERRORS.INVALID_TIMESTAMP]: {
    settings: ['message.timestamp.after.max.ms', 'message.timestamp.before.max.ms'],
    advice:
      'the time of a record may be so far after and before the clock of the broker; raise the setting of the topic, or set record.timestamp in serialize',
  },
  [KAFKA_ERRORS.INVALID_RECORD]: {
    settings: ['cleanup.policy', 'message.timestamp.type'],
    advice: 'a compacted topic takes records with a key only; set record.key in serialize',
  },
}

/** Whether a broker refused a batch because of a record in it: others may be written. */
export function isOfRecord(error: number): boolean {
  return (
    error === KAFKA_ERRORS.INVALID_TIMESTAMP ||
    error === KAFKA_ERRORS.INVALID_RECORD ||
    error === KAFKA_ERRORS.MESSAGE_TOO_LARGE ||
    error === KAFKA_ERRORS.RECORD_LIST_TOO_LARGE
  )
}

/** The error of a record that its topic refuses. Never retryable. */
export async function recordRefused(
  cluster: KafkaCluster,
  topic: string,
  batch: RefusedRecord,
  { error, detail }: Refusal,
): Promise<WeirError> {
  const cause = CAUSES[error]
  if (cause === undefined) return await recordTooLarge(cluster, topic, batch)
  const { name } = kafkaErrorEntry(error)
  const record = singleRecord(batch.bytes)
  const key = shownKey(record.key())
  const { timestamp } = record
  const time = Number.isFinite(new Date(timestamp).getTime())
    ? new Date(timestamp).toISOString()
    : String(timestamp)
  const values = await settingsOf(cluster, topic)
  const settings = cause.settings.flatMap((setting) =>
    values[setting] === undefined ? [] : [`${setting}=${values[setting]}`],
  )
  const has = settings.length === 0 ? '' : `; it has ${settings.join(', ')}`
  const words = detail === null || detail === undefined || detail === '' ? '' : ` (${detail})`
  const message = `topic "${topic}" refuses the record with ${key} and the time ${time}: ${name}${words}${has}: ${cause.advice}, or leave such records out with the option unwritable of the sink`
  const details = { topic, partition: batch.partition, key, timestamp, kafkaErrorName: name }
  return new WeirError('RECORD_REFUSED', message, { details })
}

/** The settings of a topic; none where the user may not read them. */
async function settingsOf(
  cluster: KafkaCluster,
  topic: string,
): Promise<Readonly<Record<string, string>>> {
  try {
    return await describeKafkaTopic(cluster, topic)
  } catch (error) {
    if (isWeirError(error)) return {}
    throw error
  }
}

const LIMIT = 'max.message.bytes'
const KEY_CHARACTERS = 60

/** The error of a batch of one record that is larger than its topic accepts. Never retryable. */
async function recordTooLarge(
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
function shownKey(key: Uint8Array | null): string {
  if (key === null) return 'no key'
  const text = new TextDecoder().decode(key)
  return `key ${JSON.stringify(text.length > KEY_CHARACTERS ? `${text.slice(0, KEY_CHARACTERS)}...` : text)}`
}
