import { filesBelow } from '../../connectors/file/list.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { messageOf } from '../../core/errors.ts'
import { deltasTopic } from '../../models/topic/topics.ts'
import type { CheckpointStorage } from '../../runtime/checkpoint/storage/checkpoint-storage.ts'
import { foundInCheckpoints } from './checkpoints.ts'
import { tracesIn } from './files.ts'
import { countOf, deltasOfErased, ratingsOf, rowsOf, visitTopic } from './find.ts'
import { type PersonsTopics, placesOf } from './forget.ts'
import { deltaOf } from './kafka-deltas.ts'
import { Person } from './person.ts'
import { PLACE_NAMES, PLACES, type PlaceName } from './places.ts'
import { type ServedState, servedHistories, servedVersions } from './served.ts'

/** Options of `prove`. */
export interface ProveOptions extends PersonsTopics {
  readonly topics: TopicStore
  readonly user: string
  /** Versions whose rows a running job is asked for. */
  readonly versions: readonly number[]
  /** Checkpoints and savepoints; undefined: they are not searched. */
  readonly storage: CheckpointStorage | undefined
  /** Running jobs; none: they are not searched. */
  readonly served: readonly ServedState[]
  /** Files and folders. */
  readonly files: readonly string[]
}

/** What a search has found in a place. */
export interface Finding {
  readonly place: PlaceName
  /** Topic, checkpoint, file or state; empty for a place as a whole. */
  readonly where: string
  /** `only-id`: a tombstone, which holds the id and no more. `nothing-kept`: the place never has anything. */
  readonly verdict: 'not-found' | 'found' | 'only-id' | 'not-searched' | 'nothing-kept'
  /** In words. */
  readonly detail: string
}

/**
 * Searches every place of the table for a user and changes nothing. What could not be searched is said. Throws UNKNOWN_TOPIC,
 * and errors of reading: a damaged place is not one where nothing was found.
 */
export async function prove(options: ProveOptions): Promise<readonly Finding[]> {
  const person = new Person(options.user)
  const findings: Finding[] = []
  for (const place of PLACE_NAMES) findings.push(...(await SEARCHES[place](person, options, place)))
  return findings
}

/** Whether something of the user is left. A tombstone is not: it is what deletes. */
export function isLeft(findings: readonly Finding[]): boolean {
  return findings.some(({ verdict }) => verdict === 'found')
}

type Search = (
  person: Person,
  options: ProveOptions,
  place: PlaceName,
) => Promise<readonly Finding[]>

const nothingKept: Search = async (_person, _options, place) => [
  { place, where: '', verdict: 'nothing-kept', detail: PLACES[place].erasure },
]

/** The search of each place: a row of the table without one does not compile. */
const SEARCHES: Readonly<Record<PlaceName, Search>> = {
  observations: ratingsIn,
  'other-ratings': ratingsIn,
  quarantine: ratingsIn,
  deltas: searchDeltas,
  rows: searchRows,
  'unnamed-topics': searchUnnamed,
  served: searchServed,
  histories: searchHistories,
  checkpoints: searchCheckpoints,
  files: searchFiles,
  'item-rows': nothingKept,
  registry: nothingKept,
  'gateway-and-dashboard': nothingKept,
  'rate-limits': nothingKept,
}

async function ratingsIn(
  person: Person,
  options: ProveOptions,
  place: PlaceName,
): Promise<readonly Finding[]> {
  const named = placesOf(options).filter((each) => each.place === place)
  if (named.length === 0) return [notSearched(place, 'no topic was named')]
  const findings: Finding[] = []
  for (const { topic } of named) {
    const { ratings, tombstones } = await ratingsOf(options.topics, topic, person)
    const [count, ids] = [countOf(ratings), countOf(tombstones)]
    findings.push(
      count === 0 && ids > 0
        ? onlyIds(place, topic, ids)
        : counted({ place, where: topic }, count, 'ratings by the user'),
    )
  }
  return findings
}

async function searchDeltas(
  person: Person,
  { topics, model, observations }: ProveOptions,
  place: PlaceName,
): Promise<readonly Finding[]> {
  const where = deltasTopic(model)
  if (!(await topics.has(where)))
    return [{ place, where, verdict: 'not-found', detail: 'no topic' }]
  if (topics.stored === undefined)
    return await deltasOnKafka(person, place, { topics, observations, where })
  const count = countOf(await deltasOfErased(topics, { deltas: where, observations }))
  return [counted({ place, where }, count, 'deltas of ratings that were erased')]
}

/** Deltas of ratings that a Kafka still has are found; whose those of other ratings are, nothing says. */
async function deltasOnKafka(
  person: Person,
  place: PlaceName,
  {
    topics,
    observations,
    where,
  }: Pick<ProveOptions, 'topics' | 'observations'> & { readonly where: string },
): Promise<readonly Finding[]> {
  const { ratings } = await ratingsOf(topics, observations, person)
  const kindOf = await deltaOf(topics, { observations, ratings })
  const counts = { own: 0, gone: 0 }
  await visitTopic(topics, where, (record) => {
    const kind = kindOf(record)
    if (kind !== undefined) counts[kind]++
  })
  const own = counted({ place, where }, counts.own, 'deltas of ratings by the user')
  if (counts.gone === 0) return [own]
  const why = `${counts.gone} deltas are of ratings that ${observations} no longer has, so nothing says whose; they stay until the retention, or --on-kafka delete-before`
  return [own, { ...notSearched(place, why), where }]
}

async function searchRows(
  person: Person,
  { topics, model: where }: ProveOptions,
  place: PlaceName,
): Promise<readonly Finding[]> {
  const rows = await rowsOf(topics, where, person)
  const left = rows.filter(({ isTombstone }) => !isTombstone)
  if (left.length === 0 && rows.length > 0) return [onlyIds(place, where, rows.length)]
  return [counted({ place, where }, left.length, 'rows of the user')]
}

async function searchUnnamed(
  person: Person,
  options: ProveOptions,
  place: PlaceName,
): Promise<readonly Finding[]> {
  const { topics, model } = options
  if (topics.stored === undefined) {
    return [notSearched(place, 'a Kafka may have topics of others; name yours with --also')]
  }
  const named = new Set([model, deltasTopic(model), ...placesOf(options).map(({ topic }) => topic)])
  const findings: Finding[] = []
  for (const where of await topics.topics()) {
    if (named.has(where)) continue
    const { ratings } = await ratingsOf(topics, where, person)
    const rows = (await rowsOf(topics, where, person)).filter(({ isTombstone }) => !isTombstone)
    let count = countOf(ratings) + rows.length
    // Examples of a linear model whose features have names.
    await visitTopic(topics, where, (record) => {
      if (!person.hasRated(record) && person.names(record)) count++
    })
    if (count > 0) findings.push(counted({ place, where }, count, 'records that name the user'))
  }
  return findings.length > 0
    ? findings
    : [{ place, where: '', verdict: 'not-found', detail: 'in no other topic' }]
}

function searchServed(
  person: Person,
  { served, versions }: ProveOptions,
  place: PlaceName,
): Promise<readonly Finding[]> {
  const ask = (job: ServedState) => servedVersions(job, person, versions)
  return inJobs(place, served, { ask, none: 'in no version', some: 'in version' })
}

function searchHistories(
  person: Person,
  { served }: ProveOptions,
  place: PlaceName,
): Promise<readonly Finding[]> {
  const ask = (job: ServedState) => servedHistories(job, person)
  return inJobs(place, served, { ask, none: 'in no state', some: 'in' })
}

/** Asks running jobs for what they have of a person: versions or states. */
async function inJobs(
  place: PlaceName,
  served: readonly ServedState[],
  {
    ask,
    none,
    some,
  }: {
    readonly ask: (job: ServedState) => Promise<readonly (number | string)[]>
    readonly none: string
    readonly some: string
  },
): Promise<readonly Finding[]> {
  if (served.length === 0) return [notSearched(place, 'no job was named (--job HOST:PORT)')]
  const found = new Set<number | string>()
  for (const job of served) for (const each of await ask(job)) found.add(each)
  const detail = found.size === 0 ? none : `${some} ${[...found].join(', ')}`
  return [{ place, where: '', verdict: found.size === 0 ? 'not-found' : 'found', detail }]
}

async function searchCheckpoints(
  person: Person,
  { storage }: ProveOptions,
  place: PlaceName,
): Promise<readonly Finding[]> {
  if (storage === undefined) return [notSearched(place, 'there is no checkpoint storage')]
  const findings: Finding[] = []
  for await (const { folder, states, oldBytes } of foundInCheckpoints(storage, person)) {
    const detail =
      states.length > 0
        ? `a restore would bring back ${states.join(', ')}`
        : `old bytes that no restore reads: ${oldBytes.join(', ')}`
    findings.push({ place, where: folder, verdict: 'found', detail })
  }
  return findings.length > 0
    ? findings
    : [{ place, where: '', verdict: 'not-found', detail: 'in no checkpoint or savepoint' }]
}

async function searchFiles(
  person: Person,
  { files }: ProveOptions,
  place: PlaceName,
): Promise<readonly Finding[]> {
  if (files.length === 0) return [notSearched(place, 'no file was named (--file PATH)')]
  const findings: Finding[] = []
  for (const path of files) {
    for (const where of await filesBelow(path)) {
      try {
        const { count, columns } = await tracesIn(where, person)
        const what = columns.length === 0 ? 'traces' : `traces (columns ${columns.join(', ')})`
        findings.push(counted({ place, where }, count, what))
      } catch (error) {
        findings.push({ ...notSearched(place, messageOf(error)), where })
      }
    }
  }
  return findings
}

function counted(
  { place, where }: Pick<Finding, 'place' | 'where'>,
  count: number,
  what: string,
): Finding {
  return { place, where, verdict: count === 0 ? 'not-found' : 'found', detail: `${count} ${what}` }
}

function onlyIds(place: PlaceName, where: string, count: number): Finding {
  return {
    place,
    where,
    verdict: 'only-id',
    detail: `${count} ${count === 1 ? 'tombstone' : 'tombstones'}, with the id alone`,
  }
}

function notSearched(place: PlaceName, why: string): Finding {
  return { place, where: '', verdict: 'not-searched', detail: why }
}
