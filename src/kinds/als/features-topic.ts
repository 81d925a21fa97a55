import { createHash } from 'node:crypto'
import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'

/** Begins a place of features that is a topic. */
const PREFIX = 'topic:'
/** Separator of the values of a field that has several. */
const SEVERAL = '|'

/** Opens the topics among which the one of the features is. */
export type OpenTopics = () => Promise<TopicStore>

/** The topic that a place of features names, `topic:films`; undefined for a file. */
export function topicNamed(place: string): string | undefined {
  return place.startsWith(PREFIX) ? place.slice(PREFIX.length) : undefined
}

/**
 * Features of a topic as lines (`featureTable`). The key of a record is an id, and its value a JSON object of columns:
 * `{"genre":["drama","war"],"year":1995}`. The last record of a key counts, and one without a value removes it. Throws
 * UNKNOWN_TOPIC, and UNPARSABLE_RECORD with the position of the record.
 */
export async function featureLinesOf(topic: string, open: OpenTopics): Promise<readonly string[]> {
  await using topics = await open()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const rows = new Map<string, Readonly<Record<string, string>>>()
  await scanTopic(topics, topic, (record) => {
    const [key, value] = [record.key(), record.value()]
    if (key === null) throw new Error('a record of features needs the id as its key')
    const id = decoder.decode(key)
    if (value === null) rows.delete(id)
    else rows.set(id, fieldsOf(JSON.parse(decoder.decode(value))))
    return true
  })
  const columns = [...new Set([...rows.values()].flatMap((fields) => Object.keys(fields)))].sort()
  const lines = [...rows].map(([id, fields]) => [id, ...columns.map((name) => fields[name] ?? '')])
  return [['id', ...columns], ...lines].map((fields) => fields.map(quoted).join(','))
}

/** SHA-256 of the features of a topic as they are now, in hexadecimal digits. Throws as `featureLinesOf`. */
export async function hashOfTopic(topic: string, open: OpenTopics): Promise<string> {
  const hash = createHash('sha256')
  for (const line of await featureLinesOf(topic, open)) hash.update(`${line}\n`)
  return hash.digest('hex')
}

function fieldsOf(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('the value of a record of features is a JSON object of columns')
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [columnOf(name), textOf(name, field)]),
  )
}

function columnOf(name: string): string {
  if (!/[\t\r\n]/.test(name)) return name
  throw new Error(`the name of the column ${JSON.stringify(name)} has a tab or a line break`)
}

function textOf(name: string, field: unknown): string {
  if (field === null) return ''
  if (Array.isArray(field)) return field.map((one) => textOf(name, one)).join(SEVERAL)
  if (['string', 'number', 'boolean'].includes(typeof field)) return String(field)
  throw new Error(
    `the column "${name}" is an object: a text, a number or a list of them was expected`,
  )
}

const quoted = (field: string): string =>
  /[",\t\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field
