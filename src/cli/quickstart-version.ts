import { createHash } from 'node:crypto'
import { EmbeddedLog } from '../connectors/log/embedded-log.ts'
import { hasTopic } from '../connectors/log/topic-config.ts'
import { systemClock } from '../core/clock.ts'
import { publishAls } from '../jobs/publish-als.ts'
import type { RatingsTable } from '../training/ratings-table.ts'
import { alsOptionsOf, trainWithProgress } from './als-training-flags.ts'
import type { CommandIo, Flags } from './command.ts'
import type { DataDirectory } from './data-directory.ts'
import { refuseOtherDimension } from './model-topic-dimension.ts'
import { readyVersions } from './model-versions.ts'
import type { Tell } from './quickstart-text.ts'

/** Model topic of the quickstart. */
export const QUICKSTART_TOPIC = 'als-model'

/** The version that the ratings gave, now or at an earlier start. */
export interface QuickstartVersion {
  readonly version: number
  readonly users: number
  readonly items: number
  /** False when it was found in the topic. */
  readonly trained: boolean
  readonly trainSeconds?: number
}

/** What `ensureVersion` works with. */
export interface VersionContext {
  readonly flags: Flags
  readonly data: DataDirectory
  readonly io: CommandIo
  readonly tell: Tell
}

/** Trains and publishes, unless the same ratings and parameters gave the latest version before. */
export async function ensureVersion(
  train: RatingsTable,
  { flags, data, io, tell }: VersionContext,
): Promise<QuickstartVersion> {
  const options = alsOptionsOf(flags)
  const fingerprint = fingerprintOf(train, options as Record<string, unknown>)
  const known = hasTopic(data.log, QUICKSTART_TOPIC)
    ? await readyVersions(data.log, QUICKSTART_TOPIC)
    : []
  const latest = known.at(-1)
  if (latest?.hyperparameters['fingerprint'] === fingerprint) {
    const { version, users, items } = latest
    tell('train', `not needed: version ${version} in the topic came from the same ratings`)
    return { version, users, items, trained: false }
  }
  await refuseOtherDimension(data.log, QUICKSTART_TOPIC, options)
  const startMs = systemClock.monotonicMs()
  const model = await trainWithProgress(train, options, io)
  const trainSeconds = (systemClock.monotonicMs() - startMs) / 1000
  const [users, items] = [model.users.length, model.items.length]
  const count = (n: number): string => n.toLocaleString('en-US')
  tell(
    'train',
    `ALS finds ${model.factors} factors for each of ${count(users)} users and ${count(items)} items: ${options.iterations} iterations in ${trainSeconds.toFixed(2)} s`,
  )
  const version = (latest?.version ?? 0) + 1
  await using log = await EmbeddedLog.open(data.log)
  await publishAls(model, {
    log,
    topic: QUICKSTART_TOPIC,
    version,
    clock: systemClock,
    hyperparameters: { fingerprint, factors: model.factors },
  })
  tell(
    'publish',
    `${count(users + items)} rows into topic ${QUICKSTART_TOPIC} of the embedded log, as version ${version}`,
  )
  return { version, users, items, trained: true, trainSeconds }
}

function fingerprintOf(table: RatingsTable, options: Record<string, unknown>): string {
  const hash = createHash('sha256').update(JSON.stringify(options))
  for (const ids of [table.users, table.items]) hash.update(ids.join('\n'))
  for (const column of [table.user, table.item, table.rating]) hash.update(column)
  return hash.digest('hex').slice(0, 16)
}
