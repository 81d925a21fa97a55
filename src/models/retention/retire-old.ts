import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { Clock } from '../../core/clock.ts'
import { versionsToRetire } from '../registry/commands.ts'
import type { ModelRegistry } from '../versions/model-registry.ts'
import { type RetiredVersions, retireVersions } from './retire-versions.ts'
import { collectUnfinished } from './unfinished.ts'

/** Options of `retireOldVersions`. */
export interface RetentionOptions {
  readonly registry: ModelRegistry
  /** Place of the model topic. */
  readonly place: TopicsPlace
  readonly model: string
  /** Versions to keep: the newest ones, and those that are live or a rollback goes back to. */
  readonly retain: number
  readonly clock: Clock
}

/**
 * Retires the versions that a policy does not keep: first in the registry, so that none of them can
 * go live again, then their rows. Deletes what interrupted publications and deletions have left, too.
 */
export async function retireOldVersions(options: RetentionOptions): Promise<RetiredVersions> {
  const { registry, place, model, retain, clock } = options
  const old = versionsToRetire(await registry.read(), model, retain)
  const numbers = old.map(({ number }) => number)
  for (const number of numbers) {
    await registry.require({ kind: 'retire', name: model, number, atMs: clock.nowMs() })
  }
  await using topics = await openTopics(place)
  const rows = await retireVersions(topics, model, { versions: numbers, clock })
  const left = await collectUnfinished(topics, { registry, model, clock })
  return { numbers: [...numbers, ...left.numbers], rows: rows + left.rows }
}
