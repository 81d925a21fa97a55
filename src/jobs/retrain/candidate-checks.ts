import type { TopicStore } from '../../connectors/topics/store.ts'
import { kindOf } from '../../kinds/registered.ts'
import { offsetsIn, rangesAfter } from '../../models/observations/topic-ranges.ts'
import {
  type RegisteredVersion,
  type RegistryState,
  versionsOf,
} from '../../models/registry/version.ts'
import { outcomeError } from '../../models/versions/model-registry.ts'
import { presentVersion } from '../../models/versions/trained-ranges.ts'
import {
  type CheckedData,
  goldenId,
  type PromotionChecks,
  type PromotionChecksOptions,
  recordGolden,
  runPromotionChecks,
} from '../promotion/checks.ts'
import type { RetrainOptions, RetrainOutcome } from './options.ts'

/** The checks of candidates of one retraining. */
export class CandidateChecks {
  private readonly options: RetrainOptions
  private readonly topics: TopicStore
  private readonly state: RegistryState

  constructor(options: RetrainOptions, topics: TopicStore, state: RegistryState) {
    this.options = options
    this.topics = topics
    this.state = state
  }

  /** Runs the checks; undefined without a golden set or a serving job. */
  async run(version: RegisteredVersion, live: number): Promise<PromotionChecks | undefined> {
    const options = await this.optionsFor(version, live)
    if (options === undefined) return undefined
    const against = live === 0 ? 'none' : live
    this.options.onStep?.(`checking version ${version.number} against ${against}`)
    return await runPromotionChecks(options)
  }

  /** Options of the checks; undefined without a golden set or a serving job. */
  async optionsFor(
    version: RegisteredVersion,
    live: number,
  ): Promise<PromotionChecksOptions | undefined> {
    const { reader, limits, clock } = this.options
    const data = this.data(version)
    if (reader === undefined || data === undefined) return undefined
    const { topics } = this
    const versions = versionsOf(this.state, version.name)
    const present = await Promise.all(
      versions.map((each) => presentVersion(topics, each, each.number === live)),
    )
    return {
      ...data,
      reader,
      state: kindOf(this.options).state,
      version: (await presentVersion(topics, version)).version,
      live,
      positions: await this.positions(),
      versions: present.map((each) => each.version),
      ...(limits === undefined ? {} : { limits }),
      clock,
    }
  }

  /** The golden set with the readers of its kind of observations; undefined without a golden set. */
  private data({ lineage }: RegisteredVersion): CheckedData | undefined {
    const { options, topics } = this
    if (options.golden === undefined) return undefined
    const kind = kindOf(options)
    const { golden, history } = options
    return {
      golden,
      observations: (ranges) => kind.read(topics, ranges, lineage.hyperparameters),
      ...(history === undefined
        ? {}
        : {
            history: () => kind.readHistory(history, lineage.hyperparameters),
          }),
    }
  }

  /** The last position of each partition of the model topic. */
  private async positions() {
    const bounds = await this.topics.bounds(this.options.model)
    return bounds
      .filter(({ end }) => end > 0)
      .map(({ partition, end }) => ({ partition, offset: end - 1 }))
  }
}

/**
 * Outcome for a version that exists already: a candidate that was not checked on this golden set is
 * checked on it, and promoted if it passes.
 */
export async function checkAgain(
  options: RetrainOptions,
  topics: TopicStore,
  { state, version }: { readonly state: RegistryState; readonly version: RegisteredVersion },
): Promise<RetrainOutcome> {
  const { golden, registry, clock, observations } = options
  const isNew = golden !== undefined && version.golden?.golden !== goldenId(golden, version)
  if (version.state !== 'candidate' || !isNew) return { kind: 'exists', version }
  const live = state.models.get(version.name)?.live ?? 0
  const checks = await new CandidateChecks(options, topics, state).run(version, live)
  if (checks === undefined) return { kind: 'exists', version }
  const { name, number, lineage } = version
  await registry.require({ kind: 'record-checks', name, number, checks: checks.checks })
  await recordGolden(registry, name, checks)
  const command = {
    kind: 'promote',
    name,
    number,
    expectedLive: live,
    atMs: clock.nowMs(),
  } as const
  const error = outcomeError((await registry.execute(command)).outcome, command)
  if (error !== undefined) return { kind: 'refused', version, reason: error.message, checks }
  const learned = [...lineage.ranges, ...(lineage.replayed ?? [])]
  const gap = offsetsIn(await rangesAfter(topics, observations, learned))
  return { kind: 'promoted', version, checks, gap }
}
