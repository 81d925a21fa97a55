import { createHash } from 'node:crypto'
import type { ModelVersionMarker } from './model-version-marker.ts'
import type { RegisteredModel, RegisteredVersion, RegistryState } from './registry-version.ts'

/** A hyper-parameter of markers: the version is a candidate and goes live only by promotion. */
export const CANDIDATE = 'candidate'

/** Whether a version waits for its promotion, as its marker says. */
export function isCandidate(marker: ModelVersionMarker): boolean {
  return marker.hyperparameters[CANDIDATE] === true
}

/** What is missing in a registry that a model's topic holds. */
export interface Adoption {
  readonly models: readonly RegisteredModel[]
  readonly versions: readonly RegisteredVersion[]
}

/**
 * Versions that were published without the registry (`train als`, `model load`), as it would have
 * them: the highest of them is live if the registry knows of no model yet, as the serving job has it;
 * all others are candidates. Nothing is missing when both lists are empty.
 */
export function adoption(
  state: RegistryState,
  topic: string,
  markers: readonly ModelVersionMarker[],
  atMs: number,
): Adoption {
  const known = state.versions.get(topic)
  const unknown = markers.filter(({ version }) => known?.has(version) !== true)
  const model = state.models.get(topic)
  const published = unknown.filter((marker) => !isCandidate(marker)).map(({ version }) => version)
  const live = model === undefined ? Math.max(0, ...published) : model.live
  return {
    models: model === undefined ? [{ name: topic, live, rollback: 0, revision: 0 }] : [],
    versions: unknown.map((marker) => adopted(marker, topic, live, atMs)),
  }
}

function adopted(
  marker: ModelVersionMarker,
  topic: string,
  live: number,
  atMs: number,
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
