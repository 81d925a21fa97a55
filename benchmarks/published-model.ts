import { join } from 'node:path'
import { type DataDirectory, dataDirectory } from '../src/cli/data-directory.ts'
import { EmbeddedLog } from '../src/connectors/log/embedded-log.ts'
import { systemClock } from '../src/core/clock.ts'
import { publishGeneratedModel } from '../src/jobs/publish-generated-model.ts'
import type { ModelShape } from './model-shape.ts'

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

/** The same log with checkpoints and state in folders of their own. */
export function withOwnState(model: PublishedModel, root: string): PublishedModel {
  return {
    shape: model.shape,
    data: {
      root,
      log: model.data.log,
      checkpoints: join(root, 'checkpoints'),
      state: join(root, 'state'),
    },
  }
}
