import { expect } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import {
  type CheckedData,
  type PromotionChecksOptions,
  runPromotionChecks,
} from '../../../src/jobs/promotion/checks.ts'
import { promotionVerdict } from '../../../src/models/registry/checks/promotion-verdict.ts'
import { decideCommand } from '../../../src/models/registry/commands.ts'
import {
  type RegisteredVersion,
  type RegistryState,
  versionsOf,
} from '../../../src/models/registry/version.ts'

/** What differs between the checks of two kinds of models. */
type CheckedModel = CheckedData & Pick<PromotionChecksOptions, 'reader' | 'state'>

/** A registry in memory, in which candidates of one model are checked and promoted as `weir retrain` does. */
export class PromotionLab {
  private readonly name: string
  /** What the last checks advised. */
  advice: readonly string[] = []
  private state: RegistryState = { models: new Map(), versions: new Map() }

  constructor(name: string) {
    this.name = name
  }

  /** The live version, 0 if none is. */
  get live(): number {
    return this.state.models.get(this.name)?.live ?? 0
  }

  /** Checks a candidate; returns the names of the measures that failed, none if it was promoted. */
  async check(version: RegisteredVersion, model: CheckedModel): Promise<readonly string[]> {
    const { live, name } = this
    const { checks, golden, advice } = await runPromotionChecks({
      ...model,
      version,
      live,
      positions: [],
      clock: systemClock,
      limits: { serving: { maxP99Ms: 1000 } },
      versions: versionsOf(this.state, name),
    })
    this.advice = advice
    this.apply({ kind: 'register', version: { ...version, checks } })
    for (const each of golden) this.apply({ kind: 'record-golden', name, ...each })
    const { number } = version
    this.apply({ kind: 'promote', name, number, expectedLive: live, atMs: 1 })
    const failed = checks.flatMap(({ measures }) => measures.filter(({ passed }) => !passed))
    expect(promotionVerdict(checks, live).kind === 'allowed').toBe(failed.length === 0)
    expect(this.live === number).toBe(failed.length === 0)
    return failed.map((measure) => measure.name)
  }

  rollback(): void {
    const { live, name } = this
    this.apply({ kind: 'rollback', name, expectedLive: live, atMs: 2, reason: 'a test' })
  }

  private apply(command: Parameters<typeof decideCommand>[1]): void {
    const outcome = decideCommand(this.state, command)
    if (outcome.kind !== 'changed') return
    const versions = new Map(this.state.versions.get(this.name) ?? [])
    for (const version of outcome.versions) versions.set(version.number, version)
    const models = new Map(this.state.models)
    for (const model of outcome.models) models.set(model.name, model)
    this.state = { models, versions: new Map([[this.name, versions]]) }
  }
}
