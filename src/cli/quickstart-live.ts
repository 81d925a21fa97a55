import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { systemClock } from '../core/clock.ts'
import type { ModelRegistry } from '../jobs/model-registry.ts'
import { type RegistryState, versionsOf } from '../models/registry-version.ts'
import { readyVersions } from './model-versions.ts'
import type { QuickstartVersion } from './quickstart-version.ts'

/**
 * The version that is to be served: what the registry says of the model, else the one that the ratings
 * gave. One that was trained just now is made live where the registry knows the model already.
 */
export async function liveVersion(
  registry: ModelRegistry,
  topics: TopicStore,
  { topic, base }: { readonly topic: string; readonly base: QuickstartVersion },
): Promise<number> {
  const state = await registry.read()
  const live = state.models.get(topic)?.live
  if (live === undefined) return base.version
  if (!base.trained) return live
  await registry.adopt(topic, await readyVersions(topics, topic))
  await registry.require({
    kind: 'promote',
    name: topic,
    number: base.version,
    expectedLive: live,
    atMs: systemClock.nowMs(),
    force: 'trained by the quickstart, on other ratings',
  })
  return base.version
}

/** The version that the loop made of a version at an earlier start, whatever became of it. */
export function retrainedSince(
  state: RegistryState,
  model: string,
  { base, observations }: { readonly base: number; readonly observations: string },
): number | undefined {
  return versionsOf(state, model).findLast(
    ({ number, lineage }) =>
      number > base && lineage.ranges.some(({ topic }) => topic === observations),
  )?.number
}
