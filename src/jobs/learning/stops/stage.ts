import type { WorseTest } from '../../../models/quality/worse-test.ts'
import { isLearningStopped, stopsUntil } from '../../../models/registry/learning-phase.ts'
import type { OperatorStateStore } from '../../../operators/port/operator-state.ts'
import type { VersionPhase } from '../messages.ts'

const PHASES = 'learning-phases'

/** Where learning on a version stands in a slot. */
export class LearningStage {
  /** Phase of learning (`LearningPhase`): a step and a fold belong to the phase that they are of. */
  phase = 0
  /** Whether each row that was learned has a copy of before: what was learned can be forgotten. */
  isGuarded = false

  /** Whether the version is served as it was published, and not learned. */
  get isStopped(): boolean {
    return isLearningStopped(this.phase)
  }

  /** Begins a later phase; true where learning was stopped since, so that the rows must begin again. */
  advanceTo(phase: number): boolean {
    const forgets = stopsUntil(phase) > stopsUntil(this.phase)
    this.phase = Math.max(phase, this.phase)
    return forgets
  }
}

/** A version whose predictions are compared with those without learning. */
export abstract class ComparedVersion extends LearningStage {
  /** What is measured of its predictions. */
  abstract readonly measures: { readonly worse: WorseTest }

  /** Whether learning may have to stop soon, so that every prediction is compared. */
  get isSuspicious(): boolean {
    return this.isGuarded && !this.isStopped && this.measures.worse.isSuspicious
  }

  override advanceTo(phase: number): boolean {
    if (phase > this.phase) this.measures.worse.restart()
    return super.advanceTo(phase)
  }

  /** Adds the losses of a prediction and of that without learning; true where learning has to stop. */
  isWorse(loss: number, frozenLoss: number): boolean {
    const { worse } = this.measures
    if (!this.isGuarded || this.isStopped || !worse.add(loss, frozenLoss)) return false
    worse.restart()
    return true
  }
}

/** An entry of a checkpoint. */
interface StoredStage {
  readonly version: number
  readonly phase: number
  readonly isGuarded: boolean
}

/**
 * The stages of the versions of a slot as operator state, which every slot gets of all slots. Each entry is
 *
 *   | version f64 | phase f64 | f64, 1 where the version is guarded |
 */
export class StagesState {
  private readonly state: OperatorStateStore
  private readonly neverStop: boolean
  private readonly stored: readonly StoredStage[]

  /** `neverStop`: no copies are made. */
  constructor(state: OperatorStateStore, neverStop: boolean) {
    this.state = state
    this.neverStop = neverStop
    this.stored = state.restored(PHASES).map(decodeStage)
  }

  /** The versions that the checkpoint has stages of, in any slot. */
  get versions(): ReadonlySet<number> {
    return new Set(this.stored.map(({ version }) => version))
  }

  /** The phases of the checkpoint that are not the first, by version: in some slot learning has come that far. */
  get phases(): readonly VersionPhase[] {
    return this.stored.flatMap(({ version, phase }) =>
      phase > 0 ? [[version, phase] as const] : [],
    )
  }

  /**
   * Restores the stage of a version. A slot that takes over rows of several slots begins in the earliest of their phases, and
   * puts them back again: a row that is put back twice is the same. `wasLearned`: the checkpoint has rows of the version that
   * were learned; those of an earlier build have no copies of before.
   */
  restore(version: number, stage: LearningStage, wasLearned: boolean): void {
    const stored = this.stored.filter((entry) => entry.version === version)
    stage.isGuarded =
      !this.neverStop &&
      (!wasLearned || stored.length > 0) &&
      stored.every(({ isGuarded }) => isGuarded)
    if (stored.length > 0) stage.phase = Math.min(...stored.map(({ phase }) => phase))
  }

  /** Puts the stages into the next checkpoint. */
  update(stages: Iterable<readonly [version: number, stage: LearningStage]>): void {
    this.state.update(PHASES, 'union', [...stages].map(encodeStage))
  }
}

function encodeStage([version, { phase, isGuarded }]: readonly [
  number,
  LearningStage,
]): Uint8Array {
  return new Uint8Array(Float64Array.of(version, phase, isGuarded ? 1 : 0).buffer)
}

function decodeStage(bytes: Uint8Array): StoredStage {
  const [version = 0, phase = 0, guarded = 0] = new Float64Array(Uint8Array.from(bytes).buffer)
  return { version, phase, isGuarded: guarded === 1 }
}
