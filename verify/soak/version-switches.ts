import { join } from 'node:path'
import { LogTopics } from '../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../src/core/clock.ts'
import { publishAls } from '../../src/kinds/factors/publish.ts'
import { RETIRED_VERSIONS } from '../../src/models/registry/forgotten-versions.ts'
import { liveVersionOf } from '../../src/models/registry/version.ts'
import { retireOldVersions } from '../../src/models/retention/retire-old.ts'
import { ModelRegistry } from '../../src/models/versions/model-registry.ts'
import { readyVersions } from '../../src/models/versions/model-versions.ts'
import type { AlsModel } from '../../src/training/als/solver/model.ts'

/** Versions that are kept: the live one and the target of a rollback. */
const RETAINED = 2
/** After so many switches the registry has as many versions as it ever has. */
export const SWITCHES_UNTIL_FULL = RETAINED + RETIRED_VERSIONS

/** Publishes one version after the other, makes it live, and retires those before. */
export class VersionSwitches {
  switches = 0
  private readonly data: string
  private readonly topic: string
  private readonly model: AlsModel
  private readonly registry: ModelRegistry

  /** `data`: the data directory of the job. */
  constructor(data: string, topic: string, model: AlsModel) {
    this.data = data
    this.topic = topic
    this.model = model
    const place = { logDirectory: join(data, 'registry') }
    this.registry = new ModelRegistry({ place, clock: systemClock })
  }

  /** Publishes the next version and makes it live in the registry. Returns its number. */
  async next(): Promise<number> {
    const { topic, model, registry } = this
    await using topics = new LogTopics(join(this.data, 'log'))
    const number = await publishAls(model, { log: topics, topic, clock: systemClock })
    const state = await registry.adopt(topic, await readyVersions(topics, topic))
    await registry.require({
      kind: 'promote',
      name: topic,
      number,
      expectedLive: liveVersionOf(state, topic)?.number ?? 0,
      atMs: Date.now(),
      force: 'soak',
    })
    this.switches += 1
    await retireOldVersions({
      registry,
      place: { logDirectory: join(this.data, 'log') },
      model: topic,
      retain: RETAINED,
      clock: systemClock,
    })
    return number
  }
}
