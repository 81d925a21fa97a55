import type { Installation, TopicEntry } from './installation.ts'
import type { DeltaOrigin, Kind } from './kind.ts'

/** What a version knows, by own count of the records of its topics. */
export interface Account {
  readonly produced: number
  readonly trained: number
  readonly replayed: number
  /** Observations with a step on the version. */
  readonly learned: number
  /** Observations, as `partition/offset`, that the version knows twice. */
  readonly twice: readonly string[]
  /** Observations that the version does not know. */
  readonly unknown: readonly TopicEntry[]
}

/** What an account must know of a version. */
export interface VersionFacts {
  readonly version: number
  /** Observations, as `partition/offset`, of the file that a version without ranges was trained on. */
  readonly file: ReadonlySet<string>
  /** Whether its ranges are of the topic of this machine. @default true */
  readonly isHome?: boolean
}

interface Range {
  readonly topic: string
  readonly partition: number
  readonly from: number
  readonly to: number
}

const placeOf = ({ partition, offset }: Pick<TopicEntry, 'partition' | 'offset'>): string =>
  `${partition}/${offset}`

/**
 * Counts what became of each observation of a version: trained, replayed, or learned.
 */
export async function accountOf(
  at: Installation,
  kind: Kind,
  { version, file, isHome = true }: VersionFacts,
): Promise<Account> {
  const shown = await at.run('model', 'show', String(version), '--model', kind.model, '--json')
  const { ranges, replayed = [] } = JSON.parse(shown).lineage as {
    ranges: Range[]
    replayed?: Range[]
  }
  const entries = await at.records(kind.observations)
  const within = (list: readonly Range[]): string[] =>
    list
      .filter(({ topic }) => isHome && topic === kind.observations)
      .flatMap(({ partition, from, to }) =>
        entries
          .filter((one) => one.partition === partition && one.offset >= from && one.offset < to)
          .map(placeOf),
      )
  const trained = ranges.length === 0 ? [...file] : within(ranges)
  const again = within(replayed)
  const origins = await originsOf(at, kind, version)
  const learned = [...new Set(origins.map(placeOf))]
  const seen = new Set<string>()
  const twice = [...trained, ...again, ...learned].filter(
    (place) => seen.size === seen.add(place).size,
  )
  return {
    produced: entries.length,
    trained: trained.length,
    replayed: again.length,
    learned: learned.length,
    twice,
    unknown: entries.filter((entry) => !seen.has(placeOf(entry))),
  }
}

/** Origins of all deltas of a version, also of those that came twice. */
export async function originsOf(
  at: Installation,
  kind: Kind,
  version: number,
): Promise<readonly DeltaOrigin[]> {
  const deltas = await at.records(`${kind.model}-deltas`)
  return deltas.map((delta) => kind.originOf(delta)).filter((origin) => origin.version === version)
}

/** All places of a topic. */
export async function placesOf(at: Installation, topic: string): Promise<ReadonlySet<string>> {
  return new Set((await at.records(topic)).map(placeOf))
}
