import type { TopicsPlace } from '../../connectors/topics/place.ts'
import { systemClock } from '../../core/clock.ts'
import type { RegistryState } from '../../models/registry/version.ts'
import { RegistryWatch } from '../../models/versions/watch.ts'

/**
 * Passes on the registry with each change. Resolves after the first read, so that a starting job never serves a version that
 * was rolled back.
 */
export async function followRegistry(
  registry: TopicsPlace,
  onChange: (state: RegistryState) => void,
): Promise<RegistryWatch> {
  const watch = new RegistryWatch({ place: registry, clock: systemClock, onChange })
  await watch.start()
  return watch
}
