import { systemClock } from '../../core/clock.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import { registryPlace } from '../../jobs/serve/registry-place.ts'
import { ModelAdministration } from '../../models/versions/model-administration.ts'
import { ModelRegistry } from '../../models/versions/model-registry.ts'
import type { Flags, OptionSpec } from '../command/command.ts'
import { topicName } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsPlaceOf } from './kafka.ts'

/** Flags of every verb that reads or changes the model registry. */
export const REGISTRY_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  model: {
    type: 'string',
    value: topicName,
    default: 'als-model',
    help: 'Model name; also the name of its topic',
  },
  ...KAFKA_OPTIONS,
  ...DATA_DIR_OPTION,
}

/** The registry of the flags. */
export function registryOf(flags: Flags): ModelRegistry {
  const { root } = dataDirectory(flags.string('data-dir'))
  const place = registryPlace(topicsPlaceOf(flags), root)
  return new ModelRegistry({ place, clock: systemClock })
}

/** The versions of the model of the flags. */
export function administrationOf(flags: Flags): ModelAdministration {
  return new ModelAdministration({
    registry: registryOf(flags),
    place: topicsPlaceOf(flags),
    model: flags.string('model'),
    clock: systemClock,
  })
}
