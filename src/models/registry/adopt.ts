import { createHash } from 'node:crypto'
import type { RegisteredModel, RegisteredVersion, RegistryState, VersionNote } from './version.ts'
import type { ModelVersionMarker } from './version-marker.ts'

/** Hyper-parameter of the marker of a candidate, which goes live only by promotion. */
export const CANDIDATE = 'candidate'

/** Whether a marker is that of a candidate. */
export function isCandidate(marker: ModelVersionMarker): boolean {
  return marker.hyperparameters[CANDIDATE] === true
}

/** Whether only a registry can make the version of a marker live. */
export function needsRegistry(marker: ModelVersionMarker): boolean {
  return marker.registered === true || isCandidate(marker)
}

/** Versions of a model's topic that the registry does not have. */
export interface Adoption {
  readonly models: readonly RegisteredModel[]
  readonly versions: readonly RegisteredVersion[]
}

/** The versions in the topic of a model. */
export interface TopicVersions {
  readonly topic: string
  readonly markers: readonly ModelVersionMarker[]
  /** Time of the records, ms since 1970. */
  readonly atMs: number
  /** The version that its publisher registers; undefined where none does. */
  readonly published?: number
}

/**
 * Records of versions that the registry does not have: the one that is registered by its publisher, and those of
 * programs that write to the topic themselves. If the registry does not have the model, the highest version is live, as in
 * the serving job, so the first version of a model is; all others are candidates. A version that was published again
 * replaces its record: its checks were of other rows. No version goes live if others were registered, too: the registry
 * that had them is gone, and what was live is not known. Both lists are empty when nothing is missing.
 */
export function adoption(state: RegistryState, versions: TopicVersions): Adoption {
  const { topic, markers, published } = versions
  const known = state.versions.get(topic)
  const model = state.models.get(topic)
  const unknown = markers.filter(
    ({ version }) =>
      known?.has(version) !== true || (version === published && version !== model?.live),
  )
  const live = model === undefined ? firstLive(unknown, published) : model.live
  return {
    models: model === undefined ? [{ name: topic, live, rollback: 0, revision: 0 }] : [],
    versions: unknown.map((marker) => adopted(marker, { ...versions, live })),
  }
}

/** The live version of a model that the registry does not have. */
function firstLive(markers: readonly ModelVersionMarker[], published: number | undefined): number {
  if (isRegistryLost(markers.filter(({ version }) => version !== published))) return 0
  const able = markers.filter(
    (marker) => !isCandidate(marker) && (marker.version === published || !needsRegistry(marker)),
  )
  return Math.max(0, ...able.map(({ version }) => version))
}

/** Whether a registry that does not have the model once had these versions of it. */
export function isRegistryLost(markers: readonly ModelVersionMarker[]): boolean {
  return markers.some(({ registered }) => registered === true)
}

/** Note of a version that the registry has from its topic. */
const ADOPTED = 'published without the registry'

/** Whether a registry has lost versions that it once had: it lacks one of these, or has one from the topic again. */
export function hasLostVersions(
  markers: readonly ModelVersionMarker[],
  registered: ReadonlyMap<number, RegisteredVersion> | undefined,
): boolean {
  return markers.some((marker) => {
    const version = registered?.get(marker.version)
    const isLost = version === undefined || version.notes[0]?.text === ADOPTED
    return marker.registered === true && isLost
  })
}

/** The registry as it is after an adoption. */
export function withAdoption(state: RegistryState, { models, versions }: Adoption): RegistryState {
  const all = new Map(state.models)
  for (const model of models) all.set(model.name, model)
  const byName = new Map(state.versions)
  for (const version of versions) {
    byName.set(version.name, new Map(byName.get(version.name)).set(version.number, version))
  }
  return { models: all, versions: byName }
}

function adopted(
  marker: ModelVersionMarker,
  { topic, live, atMs, published }: TopicVersions & { readonly live: number },
): RegisteredVersion {
  const id = createHash('sha256')
    .update(JSON.stringify([topic, marker]))
    .digest('hex')
    .slice(0, 32)
  const isLive = marker.version === live
  return {
    name: topic,
    processingName: `published-${id.slice(0, 16)}`,
    id,
    number: marker.version,
    topic,
    createdMs: atMs,
    dimension: marker.dimension,
    biased: marker.biased,
    users: marker.users,
    items: marker.items,
    lineage: {
      ranges: marker.trainedOn?.ranges ?? [],
      files: marker.trainedOn?.files ?? [],
      code: 'published',
      hyperparameters: marker.hyperparameters,
      metrics: marker.metrics,
      newestEventMs: marker.trainedOn?.newestEventMs ?? -1,
    },
    state: isLive ? 'live' : 'candidate',
    checks: [],
    notes: [noteOf({ isLive, isPublished: marker.version === published, atMs })],
  }
}

function noteOf({
  isLive,
  isPublished,
  atMs,
}: {
  readonly isLive: boolean
  readonly isPublished: boolean
  readonly atMs: number
}): VersionNote {
  if (!isPublished) {
    return { atMs, event: isLive ? 'forced' : 'registered', text: ADOPTED }
  }
  if (isLive) return { atMs, event: 'promoted', text: 'the first version of the model' }
  return { atMs, event: 'registered', text: 'published' }
}
