import { createHash } from 'node:crypto'
import type { RegisteredModel, RegisteredVersion, RegistryState } from './version.ts'
import type { ModelVersionMarker } from './version-marker.ts'

/** Hyper-parameter of the marker of a candidate, which goes live only by promotion. */
export const CANDIDATE = 'candidate'

/** Whether a marker is that of a candidate. */
export function isCandidate(marker: ModelVersionMarker): boolean {
  return marker.hyperparameters[CANDIDATE] === true
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
}

/**
 * Records of versions that were published without the registry (`train als`, `model load`). If the
 * registry does not have the model, the highest version is live, as in the serving job; all others are
 * candidates. Both lists are empty when nothing is missing.
 */
export function adoption(state: RegistryState, { topic, markers, atMs }: TopicVersions): Adoption {
  const known = state.versions.get(topic)
  const unknown = markers.filter(({ version }) => known?.has(version) !== true)
  const model = state.models.get(topic)
  const published = unknown.filter((marker) => !isCandidate(marker)).map(({ version }) => version)
  const live = model === undefined ? Math.max(0, ...published) : model.live
  return {
    models: model === undefined ? [{ name: topic, live, rollback: 0, revision: 0 }] : [],
    versions: unknown.map((marker) => adopted(marker, { topic, live, atMs })),
  }
}

function adopted(
  marker: ModelVersionMarker,
  { topic, live, atMs }: { readonly topic: string; readonly live: number; readonly atMs: number },
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
    users: marker.users,
    items: marker.items,
    lineage: {
      ranges: [],
      files: [],
      code: 'published',
      hyperparameters: marker.hyperparameters,
      metrics: marker.metrics,
      newestEventMs: -1,
    },
    state: isLive ? 'live' : 'candidate',
    checks: [],
    notes: [
      {
        atMs,
        event: isLive ? 'forced' : 'registered',
        text: 'published without the registry',
      },
    ],
  }
}
