import { join } from 'node:path'
import type { TopicStore } from '../../connectors/topics/store.ts'
import type { TrainedModelMetadata } from '../../kinds/port/trainer.ts'
import { kindOf } from '../../kinds/registered.ts'
import { openModelFile, publishableRows } from '../../models/publish/file-io.ts'
import { publishModel } from '../../models/publish/model.ts'
import { versionToPublish } from '../../models/publish/version-to-publish.ts'
import { CANDIDATE } from '../../models/registry/adopt.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import { RETRAINING } from '../../models/registry/unfinished.ts'
import { type RegisteredVersion, versionsOf } from '../../models/registry/version.ts'
import type { RetrainOptions } from './options.ts'
import type { TrainingProcess } from './process.ts'

/** A trained model in the training process. */
export interface TrainedModel {
  readonly process: TrainingProcess
  readonly metadata: TrainedModelMetadata
  /** Folder for its rows. */
  readonly folder: string
  /** Name of the publication, which ends with the registration. */
  readonly publication: string
}

/** Publishes a trained model as a candidate under the next free number; returns the number. */
export async function publishCandidate(
  { process, metadata, folder, publication }: TrainedModel,
  topics: TopicStore,
  options: RetrainOptions,
): Promise<number> {
  const { registry, model, clock, onStep, maxKeyBytes } = options
  const file = join(folder, 'candidate.rows')
  const { users, items } = await process.ask({ kind: 'write', file })
  const opened = await openModelFile(file)
  const after = versionsOf(await registry.read(), model).at(-1)?.number ?? 0
  const number = await versionToPublish(topics, model, { after })
  onStep?.(`publishing ${users + items} rows as version ${number}`)
  const { dimension, biased, globalMean, minRating, maxRating, metrics, found } = metadata
  const { coldVariances } = metadata
  const range = minRating === undefined || maxRating === undefined ? {} : { minRating, maxRating }
  const hyperparameters = {
    ...kindOf(options).parameters(options),
    ...found,
    [CANDIDATE]: true,
    [RETRAINING]: publication,
  }
  const rows = { dimension, users, items, rows: () => publishableRows(opened) }
  await publishModel(rows, {
    log: topics,
    topic: model,
    version: number,
    publication,
    facts: {
      name: kindOf(options).state,
      ...{ biased, globalMean, ...range, hyperparameters, metrics },
      ...(coldVariances === undefined ? {} : { coldVariances }),
    },
    clock,
    ...(maxKeyBytes === undefined ? {} : { maxKeyBytes }),
  })
  return number
}

/** Number and lineage of a candidate. */
export interface CandidateInputs {
  readonly number: number
  /** Processing name. */
  readonly name: string
  readonly ranges: readonly DataRange[]
  /** Version whose rows the training started from; undefined if it started from random rows. */
  readonly warmStart: RegisteredVersion | undefined
  readonly newestEventMs: number
}

/** A published candidate as the registry stores it. */
export function candidateVersion(
  metadata: TrainedModelMetadata,
  inputs: CandidateInputs,
  options: RetrainOptions,
): RegisteredVersion {
  const { clock, model, newId } = options
  const { number, name, ranges, warmStart, newestEventMs } = inputs
  const nowMs = clock.nowMs()
  return {
    name: model,
    processingName: name,
    id: newId(),
    number,
    topic: model,
    createdMs: nowMs,
    dimension: metadata.dimension,
    biased: metadata.biased,
    users: metadata.users,
    items: metadata.items,
    lineage: {
      ranges,
      files: metadata.files.map(({ file }) => file),
      ...(warmStart === undefined
        ? {}
        : { parent: warmStart.id, checkpoint: `live rows of version ${warmStart.number}` }),
      code: kindOf(options).code(options),
      hyperparameters: { ...kindOf(options).parameters(options), ...metadata.found },
      metrics: metadata.metrics,
      newestEventMs,
    },
    state: 'candidate',
    checks: [],
    notes: [{ atMs: nowMs, event: 'registered' }],
  }
}
