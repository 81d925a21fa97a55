import type { OnlineSide } from '../../../models/als/online/rule.ts'
import { RowMoments } from '../../../models/als/row-moments.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import type { RowTableReader } from '../../../state/rows/reader.ts'
import { MeasuresState } from '../error/measures-state.ts'
import type { VersionPhase } from '../messages.ts'
import { StagesState } from '../stops/stage.ts'
import {
  type AlsVersionMetadata,
  decodeVersion,
  type EncodedMoments,
  encodeVersion,
  LearnedVersion,
  type LearnedVersionOptions,
  sharedBytes,
  versionNumbersOf,
} from './version.ts'

const VERSIONS = 'learned-versions'
/** Errors in checkpoints of before the windows were state. */
const EARLIER_ERRORS = 'learning-errors'
const SHARED = 'rule-sums'
const RULE = 'rule'
/** Versions whose deltas are taken: the one learned on, those before it, one to come. */
const KEPT = 4

/** Numbers of a version in a checkpoint. */
interface VersionNumbers {
  readonly version: number
  readonly numbers: Float64Array
}

/** The versions that a slot learns on or takes deltas of, and their part of its checkpoints. */
export class LearnedVersions {
  private readonly options: LearnedVersionOptions
  private readonly context: OperatorContext
  private readonly versions = new Map<number, LearnedVersion>()
  private readonly measures: MeasuresState
  private readonly earlierErrors: readonly VersionNumbers[]
  private readonly restoredVersions: readonly ReturnType<typeof decodeVersion>[]
  private readonly restoredShared: readonly VersionNumbers[]
  private readonly stages: StagesState

  constructor(options: LearnedVersionOptions, context: OperatorContext) {
    this.options = options
    this.context = context
    this.restoredVersions = context.operatorState.restored(VERSIONS).map(decodeVersion)
    this.measures = new MeasuresState(context.operatorState)
    this.earlierErrors = context.operatorState.restored(EARLIER_ERRORS).map(versionNumbersOf)
    const isOtherRule = this.restoredRule !== undefined && this.restoredRule !== options.rule.rule
    const shared = context.operatorState.restored(SHARED)
    this.restoredShared = isOtherRule ? [] : shared.map(versionNumbersOf)
    this.stages = new StagesState(context.operatorState, options.neverStop === true)
  }

  /** The versions of the checkpoint that the slot was restored from. */
  *restored(): Iterable<LearnedVersion> {
    for (const { metadata, moments } of this.restoredVersions) {
      const version = this.begin(metadata, moments)
      if (version !== undefined) yield version
    }
  }

  /** The rule that the rows of the checkpoint were learned with; undefined where it does not say. */
  get restoredRule(): string | undefined {
    const [name] = this.context.operatorState.restored(RULE)
    return name === undefined ? undefined : Buffer.from(name).toString()
  }

  /** Versions whose deltas can be folded. */
  get known(): readonly number[] {
    return [...this.versions.keys()]
  }

  /** The phases of the checkpoint that are not the first, by version: in some slot learning has come that far. */
  get phases(): readonly VersionPhase[] {
    return this.stages.phases
  }

  /** The versions that are known; the one that began last is at the end. */
  get all(): readonly LearnedVersion[] {
    return [...this.versions.values()]
  }

  get(version: number): LearnedVersion | undefined {
    return this.versions.get(version)
  }

  /** The constants that learning on a version began with, or those that were published for it. */
  constantsOf({ version, published }: AlsVersionMetadata): EncodedMoments | undefined {
    const known = this.versions.get(version)?.moments
    if (known !== undefined || published === undefined) return known
    const { rule } = this.options.rule
    const isEnough =
      rule === 'sgd' || (hasSecondMoments(published.user) && hasSecondMoments(published.item))
    return isEnough ? published : undefined
  }

  /** Measures this slot's rows of a version that was published without moments. */
  measure(
    { dimension = this.options.dimension }: AlsVersionMetadata,
    tableOf: (side: OnlineSide) => RowTableReader | undefined,
  ): EncodedMoments {
    const { rule } = this.options
    const meanOnly = rule.rule === 'sgd'
    const measured = (side: OnlineSide): Float64Array =>
      tableMoments(tableOf(side), dimension, meanOnly).encode()
    return { user: measured('user'), item: measured('item') }
  }

  /** Begins a version; undefined when it is known already. */
  begin(metadata: AlsVersionMetadata, moments: EncodedMoments): LearnedVersion | undefined {
    const number = metadata.version
    const known = this.versions.get(number)
    if (known !== undefined) {
      this.versions.delete(number)
      this.versions.set(number, known)
      return undefined
    }
    const version = new LearnedVersion(metadata, moments, this.options)
    this.restoreMeasures(version)
    this.restoreShared(version)
    this.restorePhase(version)
    this.versions.set(number, version)
    // Deltas of a version that began long ago do not come any more.
    for (const old of [...this.versions.keys()].slice(0, -KEPT)) this.versions.delete(old)
    return version
  }

  private restoreMeasures({ metadata: { version }, measures }: LearnedVersion): void {
    if (this.measures.joinInto(version, measures)) return
    const earlier = this.earlierErrors.filter((entry) => entry.version === version)
    for (const { numbers } of earlier) measures.restoreEarlier(numbers)
    // A slot that came with another parallelism: the ratings that it gets first are not the first ones.
    const isKnown = this.restoredVersions.some(({ metadata }) => metadata.version === version)
    if (earlier.length === 0 && isKnown) measures.leaveOutStart()
  }

  private restorePhase(version: LearnedVersion): void {
    const number = version.metadata.version
    const wasLearned = this.restoredVersions.some(({ metadata }) => metadata.version === number)
    this.stages.restore(number, version, wasLearned)
  }

  /** Adds up the sums of the slots that this one takes over; a rule with other options has other sums. */
  private restoreShared({ metadata, rule: { shared } }: LearnedVersion): void {
    for (const { version, numbers } of this.restoredShared) {
      if (version !== metadata.version || shared?.length !== numbers.length) continue
      for (let i = 0; i < numbers.length; i++) shared[i]! += numbers[i]!
    }
  }

  /** Forgets a retired version: its deltas are dropped from now on. */
  drop(version: number): void {
    this.versions.delete(version)
  }

  /** Puts constants and errors into the next checkpoint. */
  snapshot(): void {
    const { operatorState } = this.context
    const versions = this.all
    const constants = versions.map(({ metadata, moments }) => encodeVersion(metadata, moments))
    operatorState.update(VERSIONS, 'broadcast', constants)
    this.measures.update(versions.map(({ metadata, measures }) => [metadata.version, measures]))
    operatorState.update(SHARED, 'split', versions.flatMap(sharedBytes))
    this.stages.update(versions.map((version) => [version.metadata.version, version]))
    operatorState.update(RULE, 'broadcast', [Buffer.from(this.options.rule.rule)])
  }
}

function hasSecondMoments(numbers: Float64Array): boolean {
  return RowMoments.decode(numbers).hasProducts
}

/** Most multiplications for the moments of one side's rows of a slot: about 0.1 s. */
const WORK = 5e7

/**
 * Moments of the rows of one table. `meanOnly`: the mean alone, which the table keeps. Rows that are
 * spilled or being written are left out; of a large table only the first rows are measured.
 */
function tableMoments(
  table: RowTableReader | undefined,
  dimension: number,
  meanOnly: boolean,
): RowMoments {
  const moments = new RowMoments(dimension, meanOnly)
  if (table === undefined) return moments
  if (meanOnly) {
    const sums = new Float64Array(dimension)
    const count = table.addMeanInto(0, sums)
    if (count > 0) moments.addSums(count, sums)
    return moments
  }
  const row = new Float32Array(dimension)
  const most = Math.ceil((2 * WORK) / (dimension * dimension))
  const { rowsPerSegment, rowShift } = table.layout
  for (let segment = 0; segment < table.segments; segment++) {
    if (!table.hasRows(segment)) continue
    const first = segment << rowShift
    for (let number = first; number < first + rowsPerSegment; number++) {
      if (moments.count >= most) return moments
      const sequence = table.openRow(number)
      if ((sequence & 1) !== 0 || !table.isLive(number)) continue
      if (table.readInto(number, sequence, row, 0)) moments.add(row)
    }
  }
  return moments
}
