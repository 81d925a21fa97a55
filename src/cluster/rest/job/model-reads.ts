import type { UnfinishedNumber } from '../../../jobs/served-job.ts'
import { compareLists, listLengthOf } from '../../../kinds/factors/top-lists.ts'
import { idOfKey, isRowOf } from '../../../models/als/row-key.ts'
import { diffVersions } from '../../../models/registry/diff.ts'
import {
  isLinear,
  type RegisteredVersion,
  type RegistryState,
  versionsOf,
} from '../../../models/registry/version.ts'
import type { ModelReader } from '../../../wire/model-reader.ts'
import type { QueryableStateInfo } from '../../../wire/routing-table.ts'
import type { DifferenceView, ModelsView, VersionView } from '../port/job-data.ts'

/** The model of a job in the registry. */
export interface ModelFacts {
  /** Name in the registry. */
  readonly model: string
  /** Name of its queryable state. */
  readonly state: string
  readonly registry: RegistryState
  /** The state as queries see it; undefined before the first version is loaded. */
  readonly served: QueryableStateInfo | undefined
  /** Versions that are not whole. */
  readonly unfinished: readonly UnfinishedNumber[]
}

/** The versions of a model, newest first: those of the registry, and those that only the job has. */
export function modelsView(facts: ModelFacts): ModelsView {
  const { model, state, registry, served, unfinished } = facts
  const { live = 0, rollback = 0, revision = 0 } = registry.models.get(model) ?? {}
  const registered = versionsOf(registry, model)
  const numbers = new Set(registered.map(({ number }) => number))
  const parts = new Map(unfinished.map((version) => [version.number, version.state]))
  const known = new Set([...(served?.versions ?? []), ...parts.keys()])
  const others = [...known].filter((number) => !numbers.has(number))
  const versions: VersionView[] = [
    ...registered.map((version) => versionView(version, served)),
    ...others.map((number) => ({
      number,
      state: parts.get(number) ?? ('unregistered' as const),
      ...serving(number, served),
    })),
  ]
  versions.sort((a, b) => b.number - a.number)
  return { model, state, live, serving: served?.liveVersion ?? 0, rollback, revision, versions }
}

function versionView(
  { golden: _, ...version }: RegisteredVersion,
  served: QueryableStateInfo | undefined,
): VersionView {
  return { ...version, ...serving(version.number, served) }
}

function serving(number: number, served: QueryableStateInfo | undefined) {
  return {
    isLoaded: served?.versions.includes(number) === true,
    isServing: served?.liveVersion === number,
  }
}

/** Keys that are read to find users. */
const SCANNED_KEYS = 2000
/** Users whose lists are compared. */
const LIST_USERS = 50

/** The differences of two versions; of their top lists only where the job has both. */
export async function differenceView(
  reader: ModelReader,
  [a, b]: readonly [RegisteredVersion, RegisteredVersion],
  served: QueryableStateInfo | undefined,
): Promise<DifferenceView> {
  const differences = diffVersions(a, b)
  const isLoaded = [a, b].every(({ number }) => served?.versions.includes(number) === true)
  const lists =
    isLoaded && !isLinear(a) && !isLinear(b) ? await listsOf(reader, [a, b], served!.name) : null
  return { a: a.number, b: b.number, differences, lists }
}

async function listsOf(
  reader: ModelReader,
  [a, b]: readonly [RegisteredVersion, RegisteredVersion],
  state: string,
): Promise<DifferenceView['lists']> {
  const range = { from: '', to: '\u{10ffff}', limit: SCANNED_KEYS }
  const entries = await reader.scan(state, range, { version: a.number })
  const users = entries.filter(({ key }) => isRowOf(key, 'U'))
  const step = Math.max(1, Math.ceil(users.length / LIST_USERS))
  const sample = users.filter((_, n) => n % step === 0).map(({ key }) => idOfKey(key))
  if (sample.length === 0) return null
  const facts = await compareLists({
    reader,
    state,
    candidate: b.number,
    live: a.number,
    items: b.items,
    users: sample,
    isSupported: () => false,
  })
  return { ...facts, k: listLengthOf(b.items) }
}
