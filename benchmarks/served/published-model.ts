import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'
import { systemClock } from '../../src/core/clock.ts'
import { type DataDirectory, dataDirectory } from '../../src/jobs/serve/data-directory.ts'
import { publishGeneratedModel } from '../../src/kinds/factors/generated-model.ts'
import type { ModelShape } from '../load/model-shape.ts'

/** Topic of generated models. */
export const MODEL_TOPIC = 'als-model'

/** A generated model in an embedded log. */
export interface PublishedModel {
  readonly shape: ModelShape
  readonly data: DataDirectory
}

/** Publishes a generated model as version 1 into a log below `root`, as `weir generate als-model` does. */
export async function publishModelFor(root: string, shape: ModelShape): Promise<PublishedModel> {
  const data = dataDirectory(root)
  await using log = await EmbeddedLog.open(data.log)
  await publishGeneratedModel(shape, { log, topic: MODEL_TOPIC, version: 1, clock: systemClock })
  return { shape, data }
}

/** The same log with other folders for checkpoints and state. */
export function withOwnState(model: PublishedModel, root: string): PublishedModel {
  return {
    shape: model.shape,
    data: { ...dataDirectory(root), log: model.data.log },
  }
}
