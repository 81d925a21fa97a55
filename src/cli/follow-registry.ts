import type { TopicsPlace } from '../connectors/topics/open-topics.ts'
import { systemClock } from '../core/clock.ts'
import type { VersionCoordinator } from '../jobmanager/version-coordinator.ts'
import { RegistryWatch } from '../jobs/model-registry-watch.ts'

/**
 * Lets the coordinator follow what the registry says of a model; resolves after the first look, so that
 * a job that starts does not serve a version that was rolled back.
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
