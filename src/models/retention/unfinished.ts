import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Clock } from '../../core/clock.ts'
import { hasLostVersions } from '../registry/adopt.ts'
import { isCollectable } from '../registry/unfinished.ts'
import type { ModelRegistry } from '../versions/model-registry.ts'
import {
  type PublishedVersions,
  publishedVersions,
  unfinishedVersions,
} from '../versions/model-versions.ts'
import { type RetiredVersions, retireVersions } from './retire-versions.ts'

/** Options of `collectUnfinished`. */
export interface CollectOptions {
  readonly registry: ModelRegistry
  readonly model: string
  readonly clock: Clock
  /** What the topic has, where the caller has read it. */
  readonly published?: PublishedVersions
  /** Called with the versions before they are deleted. */
  readonly onFound?: (versions: readonly number[]) => void
}

/**
 * Deletes what interrupted publications, retrainings and deletions have left in the topic of a model (`isCollectable`). A
 * version that the registry got from the topic (`ModelRegistry.adopt`) is retired there, too. After the registry was lost,
 * no version is known to be unregistered: a job may serve it, and a person decides.
 */
export async function collectUnfinished(
  topics: TopicStore,
  { registry, model, clock, published, onFound }: CollectOptions,
): Promise<RetiredVersions> {
  const present = published ?? (await publishedVersions(topics, model))
  const state = await registry.read()
  const registered = state.versions.get(model)
  const { live, rollback } = state.models.get(model) ?? {}
  const isLost = hasLostVersions(present.ready, registered)
  const versions = unfinishedVersions(present, registered, clock.nowMs())
    .filter(({ kind }) => !(isLost && kind === 'unregistered'))
    .filter((version) => isCollectable(version, registered?.get(version.marker.version)))
    .map(({ marker }) => marker.version)
    .filter((version) => version !== live && version !== rollback)
  if (versions.length === 0) return { numbers: [], rows: 0 }
  onFound?.(versions)
  for (const number of versions) {
    if (registered?.has(number) !== true) continue
    await registry.require({ kind: 'retire', name: model, number, atMs: clock.nowMs() })
  }
  return { numbers: versions, rows: await retireVersions(topics, model, { versions, clock }) }
}
