import { inspectCheckpoints } from '../../runtime/checkpoint/coordinator/inspect.ts'
import { readManifest } from '../../runtime/checkpoint/manifest/read.ts'
import type {
  OperatorManifest,
  OperatorStateEntries,
  SegmentReference,
} from '../../runtime/checkpoint/protocol/checkpoint-types.ts'
import { openSegment, visitSpans } from '../../runtime/checkpoint/segment/reader.ts'
import type { CheckpointStorage } from '../../runtime/checkpoint/storage/checkpoint-storage.ts'
import { type EntrySpan, keyOfSpan } from '../../state/port/change.ts'
import { KNOWN_ITEMS_UID } from '../histories/states.ts'
import { SEEN_EVENTS } from '../learning/observations-gate.ts'
import { eventsIn } from '../learning/seen-events.ts'
import { TextSearch } from './files.ts'
import type { Person } from './person.ts'

/** A checkpoint or savepoint that has something of a person. */
export interface FoundInCheckpoint {
  readonly folder: string
  /** States that would be restored with it. */
  readonly states: readonly string[]
  /** States of which only older bytes are in its files: a restore does not read them. */
  readonly oldBytes: readonly string[]
}

/** Searches the state of all checkpoints and savepoints of a storage. Throws STORAGE_FAILED, CHECKSUM_MISMATCH. */
export async function* foundInCheckpoints(
  storage: CheckpointStorage,
  person: Person,
): AsyncGenerator<FoundInCheckpoint> {
  const known = new Map<string, Promise<SegmentFinds>>()
  const findsIn = (uid: string, segment: SegmentReference): Promise<SegmentFinds> => {
    const name = `${uid} ${segment.path}`
    const finds = known.get(name) ?? searchSegment(storage, { uid, segment, person })
    known.set(name, finds)
    return finds
  }
  for await (const { folder, isSuperseded, manifest } of inspectCheckpoints(
    storage,
    '',
    'lengths',
  )) {
    if (isSuperseded) continue
    try {
      const { operators } = manifest ?? (await readManifest(storage, folder))
      const found = await searchOperators(operators, person, findsIn)
      if (found.states.length + found.oldBytes.length > 0) yield { folder, ...found }
    } catch (error) {
      // A running job deletes its oldest checkpoint while the next one is searched.
      if (await storage.list(folder).then((files) => files.length > 0)) throw error
    }
  }
}

async function searchOperators(
  operators: readonly OperatorManifest[],
  person: Person,
  findsIn: (uid: string, segment: SegmentReference) => Promise<SegmentFinds>,
): Promise<Omit<FoundInCheckpoint, 'folder'>> {
  const states = new Set<string>()
  const oldBytes = new Set<string>()
  for (const { uid, segments, operatorState } of operators) {
    for (const state of statesNaming(operatorState.flat(), person)) states.add(`${uid}/${state}`)
    const chain: SegmentFinds[] = []
    for (const segment of newestFirst(segments)) chain.push(await findsIn(uid, segment))
    const live = liveIn(chain)
    for (const state of live) states.add(`${uid}/${state}`)
    for (const state of chain.flatMap(({ bytes }) => [...bytes])) {
      if (!live.has(state)) oldBytes.add(`${uid}/${state}`)
    }
  }
  return { states: [...states], oldBytes: [...oldBytes] }
}

/** Names of the states beside the keyed ones that name a person: events that were seen, and records that were under way. */
export function statesNaming(
  states: readonly OperatorStateEntries[],
  person: Person,
): readonly string[] {
  return states.flatMap(({ name, entries }) => {
    const names = name === SEEN_EVENTS ? hasRatedIn : isNamedIn
    return entries.some((entry) => names(entry, person)) ? [name] : []
  })
}

function hasRatedIn(events: Uint8Array, person: Person): boolean {
  return [...eventsIn(events)].some(({ id }) => person.isFirstField(Buffer.from(id).toString()))
}

function isNamedIn(entry: Uint8Array, person: Person): boolean {
  const search = new TextSearch(person)
  search.push(entry)
  return search.end() > 0
}

/** What a segment has of a person, by name of the state. */
interface SegmentFinds {
  /** The newest entry: whether the key is there, or deleted. */
  readonly newest: ReadonlyMap<string, 'there' | 'deleted'>
  /** States of which the segment has a value. */
  readonly bytes: ReadonlySet<string>
}

async function searchSegment(
  storage: CheckpointStorage,
  {
    uid,
    segment,
    person,
  }: { readonly uid: string; readonly segment: SegmentReference; readonly person: Person },
): Promise<SegmentFinds> {
  const newest = new Map<string, 'there' | 'deleted'>()
  const bytes = new Set<string>()
  const wanted = Buffer.from(uid === KNOWN_ITEMS_UID ? person.user : person.rowKey)
  const isWanted = (entry: EntrySpan): boolean => wanted.equals(keyOfSpan(entry))
  const opened = await openSegment(storage, segment)
  // The first entry of a key that is visited is its newest one.
  await visitSpans(opened, segment.keyGroups, (_group, state, entry) => {
    if (!isWanted(entry)) return
    const found = entry.valueLength < 0 ? 'deleted' : 'there'
    if (found === 'there') bytes.add(state)
    if (!newest.has(state)) newest.set(state, found)
  })
  return { newest, bytes }
}

/** The states of which a restore reads a value: the newest segment that knows the key decides. */
function liveIn(chain: readonly SegmentFinds[]): ReadonlySet<string> {
  const decided = new Map<string, 'there' | 'deleted'>()
  for (const { newest } of chain) {
    for (const [state, found] of newest) if (!decided.has(state)) decided.set(state, found)
  }
  return new Set([...decided].filter(([, found]) => found === 'there').map(([state]) => state))
}

function newestFirst(segments: OperatorManifest['segments']): readonly SegmentReference[] {
  return [...segments].reverse()
}
