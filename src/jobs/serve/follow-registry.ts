import type { TopicsPlace } from '../../connectors/topics/place.ts'
import { systemClock } from '../../core/clock.ts'
import type { VersionCoordinator } from '../model-topic/version-coordinator.ts'
import { RegistryWatch } from '../registry/watch.ts'

/**
 * Keeps the coordinator's live version the same as the registry's. Resolves after the first read, so
 * that a starting job never serves a version that was rolled back.
 */
export async function followRegistry(
  coordinator: VersionCoordinator,
  registry: TopicsPlace,
  model: string,
): Promise<RegistryWatch> {
  const watch = new RegistryWatch({
    place: registry,
    clock: systemClock,
    onChange: (state) => coordinator.setDesired(state.models.get(model)),
  })
  await watch.start()
  return watch
}
