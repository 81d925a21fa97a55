import type { ByteSpan } from '../../../core/byte-span.ts'
import { WeirError } from '../../../core/errors.ts'
import type { Counter } from '../../../core/metrics.ts'
import { latin1Of } from '../../../core/text/latin1.ts'
import { type LearnedRow, scoreOf } from '../../../models/als/online/rule.ts'
import { idOfKeyBytes } from '../../../models/als/row-key.ts'
import { targetOf } from '../../../models/feedback.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import type { WriteOrigin } from '../../../state/port/handles.ts'
import type { KeyedState } from '../../../state/port/keyed-state.ts'
import type { InFlightLimit } from '../in-flight-limit.ts'
import { RecentValues } from '../recent-values.ts'
import { type RefusalReason, Refusals } from '../refused.ts'
import { DeltaSender } from './delta-sender.ts'
import type { DeltaWindowOptions } from './delta-window.ts'
import { isInSample, isPairInSample } from './frozen-rows.ts'
import type { LearnedRows } from './learned-rows.ts'
import { RateLimit } from './rate-limit.ts'
import type { DeltaRecord, RatingRecord, SwitchRecord } from './records.ts'
import type { LearnedVersion } from './version.ts'
import type { LearnedVersions } from './versions.ts'

/** Options of the steps. */
export interface LearningStepsOptions {
  /** Ratings of one user in one second of event time; more are refused. @default no limit */
  readonly ratingsPerSecond?: number
  /**
   * Ratings of one item in one second of event time that the users of one slot give; more are refused, so
   * that a flood of ratings moves an item no faster than that. @default no limit
   */
  readonly itemRatingsPerSecond?: number
  /** Ratings outside the range that the version was trained on are refused. @default true */
  readonly refuseOutOfRange?: boolean
  /** Sums deltas before they are sent; the sink must then write transactions. @default none */
  readonly window?: DeltaWindowOptions
}

/** What the steps work with. */
export interface LearningStepsParts {
  readonly versions: LearnedVersions
  readonly rows: LearnedRows
  /** The state whose key is that of the record. */
  readonly state: KeyedState
  readonly context: OperatorContext
  readonly options: LearningStepsOptions
  /** The slot's predictions are certainly worse than those of the version without learning. */
  readonly onWorse: (version: LearnedVersion) => void
}

/** What is predicted of a rating. */
interface Predicted {
  readonly score: number
  /** Without learning; undefined where it is not compared. */
  readonly frozen: number | undefined
  /** Both rows existed. */
  readonly known: boolean
  readonly timestamp: number
}

/** How the prediction of a rating is compared with that without learning. */
interface Comparison {
  /** The pair is in the sample: the error without learning is that of the sample. */
  isSampled: boolean
  /** Both are predicted: it is in the sample, or learning is suspected to make predictions worse. */
  isCompared: boolean
}

const encoder = new TextEncoder()
/** Folded deltas from one whose latency is measured to the next, so that most pay nothing. */
const MEASURED_EVERY = 8
/** Latencies that are kept. */
const MEASURED = 1024

/**
 * Learns from ratings. A rating comes to the owner of its user, who reads the item's row in place, in
 * whichever slot it is, does the rule's step on the user's row and sends a delta of the item's row. The
 * item's owner folds the delta. No row has two writers, and the learner waits for another slot only where that one has the
 * item's row in its store.
 */
export class LearningSteps {
  /** Observations in flight; undefined before the first version. */
  inFlight: InFlightLimit | undefined
  private readonly versions: LearnedVersions
  private readonly rows: LearnedRows
  private readonly state: KeyedState
  private readonly context: OperatorContext
  private readonly refuseOutOfRange: boolean
  private readonly userLimit: RateLimit | undefined
  private readonly itemLimit: RateLimit | undefined
  private readonly deltas: DeltaSender
  private latest: LearnedVersion | undefined
  /** By partition of the observations, the version that its ratings are learned on. */
  private readonly versionOf: (LearnedVersion | undefined)[] = []
  /** By partition of the observations, the phase of learning that its ratings belong to. */
  private readonly phaseOf: number[] = []
  private readonly onWorse: (version: LearnedVersion) => void
  private readonly origin = { source: 0, partition: -1, offset: 0, eventTime: -1 }
  /** Number of the source of the ratings; -1 before the first. */
  private ratingsSource = -1
  /** Time from the event of a rating to the change of its item's row, which is later than its user's. */
  private readonly visibleMs = new RecentValues(MEASURED)
  private readonly learned: Counter
  private readonly left: Counter
  private readonly folded: Counter
  private readonly refusals: Refusals
  private readonly dropped: Counter
  private readonly asked: Counter
  /** How the rating that is learned now is compared. */
  private readonly comparison: Comparison = { isSampled: false, isCompared: false }

  constructor({ versions, rows, state, context, options, onWorse }: LearningStepsParts) {
    this.versions = versions
    this.rows = rows
    this.state = state
    this.context = context
    this.onWorse = onWorse
    const { refuseOutOfRange = true, window } = options
    this.refuseOutOfRange = refuseOutOfRange
    this.userLimit = rateLimit(options.ratingsPerSecond)
    this.itemLimit = rateLimit(options.itemRatingsPerSecond)
    this.deltas = new DeltaSender(context, window)
    const { metrics } = context
    this.learned = metrics.counter('ratingsLearned')
    this.left = metrics.counter('ratingsLeftOut')
    this.folded = metrics.counter('deltasFolded')
    this.refusals = new Refusals(context, 'ratingsRefused')
    this.dropped = metrics.counter('numRecordsDropped')
    this.asked = metrics.counter('itemRowsAsked')
    metrics.gauge('updateToVisibleMedianMs', () => this.visibleMs.quantile(0.5))
    metrics.gauge('updateToVisibleMaxMs', () => this.visibleMs.quantile(1))
  }

  /** The version that the newest ratings are learned on; undefined before the first. */
  get current(): LearnedVersion | undefined {
    return this.latest
  }

  /** Ratings of a partition are learned on another version from here on. */
  switchTo({ version, partition, phase }: SwitchRecord): void {
    this.flush()
    this.ratingsSource = this.context.position().source ?? 0
    this.latest = this.versions.get(version)
    this.versionOf[partition] = this.latest
    this.phaseOf[partition] = phase
  }

  /** Sends the deltas that wait for others. */
  flush(): void {
    this.deltas.flush()
  }

  /** Sends them where they have waited long enough; false where they have not. */
  flushDue(timestampMs: number): boolean {
    if (!this.deltas.isDue(timestampMs)) return false
    this.flush()
    return true
  }

  /** Learns a rating of a user of this slot, or refuses it. */
  learn(rating: RatingRecord, timestamp: number): void {
    const version = this.versionOf[this.context.position().partition]
    if (version === undefined) {
      throw new WeirError('ILLEGAL_STATE', 'a rating came before any version was live')
    }
    const key = this.state.currentKey()
    const refusal = this.refusalOf(rating, version, key, timestamp)
    if (refusal !== undefined) {
      this.refuse(rating, key, refusal, timestamp)
      return
    }
    const { rows, comparison } = this
    comparison.isSampled = isSampled(version, key, rating.item)
    comparison.isCompared = comparison.isSampled || version.isSuspicious
    const item = rows.item(version, rating.item)
    if (item === undefined || !this.readsFrozen(version, rating.item, item)) {
      this.learnWhenAnswered(version, rating, key, timestamp)
    } else this.step(version, rating, key, item, timestamp)
  }

  /** Reads the frozen row of the item where it is compared; false where another slot has it in its store. */
  private readsFrozen(version: LearnedVersion, key: ByteSpan, item: LearnedRow): boolean {
    if (!this.comparison.isCompared) return true
    return this.rows.frozen.readItem(version.metadata.version, key, item)
  }

  /**
   * Asks the owner of the item, which has its row, or its frozen row, in its store; the learner takes no input before the
   * step is done.
   */
  private learnWhenAnswered(
    version: LearnedVersion,
    { item, rating, kind }: RatingRecord,
    userKey: Uint8Array,
    timestamp: number,
  ): void {
    const { context, rows } = this
    this.asked.increment()
    const position = { ...context.position() }
    const user = userKey.slice()
    const bytes = item.bytes.slice(item.start, item.start + item.length)
    const held = { kind, key: spanOf(user), item: spanOf(bytes), rating }
    const ofItem = rows.askedItem(version, bytes)
    const frozen = this.comparison.isCompared ? [rows.frozen.askedItem(ofItem[0]!, bytes)] : []
    const asked = [...ofItem, ...frozen]
    context.suspend(async () => {
      const answers = (await Promise.all(asked.map((one) => context.storedRows(one)))).flat()
      context.resumeAt(position)
      if (frozen.length > 0) rows.frozen.answeredItem(answers.pop())
      this.step(version, held, user, rows.answeredItem(version, answers), timestamp)
    })
  }

  /** Learns a rating of the item's row, which is in the buffer of items. */
  private step(
    version: LearnedVersion,
    rating: RatingRecord,
    key: Uint8Array,
    item: LearnedRow,
    timestamp: number,
  ): void {
    const { rows } = this
    const user = rows.user(version, key)
    const score = scoreOf(user.row, item.row)
    const known = user.updates + user.evidence > 0 && item.updates + item.evidence > 0
    const { partition, offset } = this.context.position()
    if (version.isStopped || this.phaseOf[partition] !== version.phase) {
      this.leaveOut(version, rating, {
        score,
        frozen: this.scoreWithout(version, key, user, item),
        known,
        timestamp,
      })
      return
    }
    const frozen = this.frozenScore(version, key, user, item)
    const delta = rows.deltaOf(version)
    if (version.rule.learn(user, item, rating.rating, delta) === 'refused') {
      this.refuse(rating, key, 'not-finite', timestamp)
      return
    }
    this.measure(version, rating, { score, frozen, known, timestamp })
    rows.storeUser(version, key, this.originOf(this.ratingsSource, partition, offset, timestamp))
    this.learned.increment()
    const attemptTag = this.inFlight?.attemptTag ?? 0
    const { phase, metadata } = version
    const of = { version: metadata.version, phase, attemptTag }
    this.deltas.send(of, rating.item, delta, key, timestamp)
  }

  /** Predicts a rating, and does not learn it: learning is stopped. */
  private leaveOut(version: LearnedVersion, rating: RatingRecord, predicted: Predicted): void {
    this.measure(version, rating, predicted)
    this.left.increment()
    this.inFlight?.leave()
  }

  /** A query is answered with the score as it is: clipped to the range of ratings, its error could not show a divergence. */
  private measure(
    version: LearnedVersion,
    { rating }: RatingRecord,
    { score, frozen, known, timestamp }: Predicted,
  ): void {
    const { measures, metadata } = version
    const { clock } = this.context
    const target = targetOf(metadata.feedback, rating)
    measures.add(target - score, known, clock, timestamp)
    if (frozen === undefined) return
    // The error without learning is of the sample alone: the other pairs are compared while learning is suspected.
    if (this.comparison.isSampled) measures.addFrozen(target - frozen, known, clock, timestamp)
    if (version.isWorse((target - score) ** 2, (target - frozen) ** 2)) this.onWorse(version)
  }

  /** The score without learning, before the step changes the rows; undefined where it is not compared. */
  private frozenScore(
    version: LearnedVersion,
    userKey: Uint8Array,
    user: LearnedRow,
    item: LearnedRow,
  ): number | undefined {
    const { frozen } = this.rows
    const { isGuarded, metadata } = version
    const { isCompared } = this.comparison
    if (isGuarded || isCompared) frozen.keep('user', metadata.version, userKey, user, isGuarded)
    return isCompared ? frozen.score(metadata.version, userKey, user, item) : undefined
  }

  /**
   * The score without learning of a rating that is left out; undefined outside the sample. It is not that of the rows: until
   * they are put back they are as learned.
   */
  private scoreWithout(
    { metadata }: LearnedVersion,
    userKey: Uint8Array,
    user: LearnedRow,
    item: LearnedRow,
  ): number | undefined {
    if (!this.comparison.isSampled) return undefined
    return this.rows.frozen.score(metadata.version, userKey, user, item)
  }

  /** Puts the rows of a version in this slot back to what they were before they were learned. A step is a row. */
  beginAgain({ metadata }: LearnedVersion): Generator<void, void> {
    const source = Math.max(1, this.ratingsSource)
    return this.rows.beginAgain(metadata.version, {
      source,
      partition: 0,
      offset: 0,
      eventTime: -1,
    })
  }

  /** Folds a delta into the row of an item of this slot. */
  fold(delta: DeltaRecord, timestamp: number): void {
    this.inFlight?.leave()
    const version = this.versions.get(delta.version)
    // What was learned before learning was stopped is forgotten, also what is still on its way.
    if (version === undefined || version.isStopped || !isOfVersion(delta, version)) {
      this.dropped.increment()
      return
    }
    const key = this.state.currentKey()
    const item = this.rows.ownItem(version, key)
    this.rows.frozen.keep('item', delta.version, key, item, version.isGuarded)
    if (version.rule.fold(item, delta.values) === 'refused') {
      this.dropped.increment()
      return
    }
    this.rows.storeItem(version, key, this.originOfDelta(delta, timestamp))
    this.folded.increment()
    if (this.folded.value % MEASURED_EVERY === 0) {
      this.visibleMs.add(this.context.clock.nowMs() - timestamp)
    }
  }

  /** The rating of the delta; the delta itself while no rating has shown the number of their source. */
  private originOfDelta({ partition, offset }: DeltaRecord, eventTime: number): WriteOrigin {
    const { ratingsSource } = this
    if (ratingsSource >= 0) return this.originOf(ratingsSource, partition, offset, eventTime)
    const read = this.context.position()
    return this.originOf(read.source ?? 0, read.partition, read.offset, eventTime)
  }

  /** One object for all rows, filled again for each. */
  private originOf(
    source: number,
    partition: number,
    offset: number,
    eventTime: number,
  ): WriteOrigin {
    const { origin } = this
    origin.source = source
    origin.partition = partition
    origin.offset = offset
    origin.eventTime = eventTime
    return origin
  }

  private refusalOf(
    { rating, item }: RatingRecord,
    { range }: LearnedVersion,
    key: Uint8Array,
    timestamp: number,
  ): RefusalReason | undefined {
    if (this.refuseOutOfRange && (rating < range.min || rating > range.max)) return 'out-of-range'
    if (this.userLimit?.exceeds(latin1Of(key), timestamp) === true) return 'rate-limited'
    if (this.itemLimit === undefined) return undefined
    const itemKey = latin1Of(item.bytes.subarray(item.start, item.start + item.length))
    return this.itemLimit.exceeds(itemKey, timestamp) ? 'rate-limited' : undefined
  }

  private refuse(
    { item, rating }: RatingRecord,
    user: Uint8Array,
    reason: RefusalReason,
    timestamp: number,
  ): void {
    this.inFlight?.leave()
    const itemKey = item.bytes.subarray(item.start, item.start + item.length)
    const value = encoder.encode(`${idOfKeyBytes(user)},${idOfKeyBytes(itemKey)},${rating}`)
    this.refusals.refuse(value, reason, timestamp)
  }
}

/** Whether a delta is as long as the rule of its version makes them: a number of versions may have had others before. */
function isOfVersion({ values }: DeltaRecord, { rule }: LearnedVersion): boolean {
  return values.length === rule.deltaLength
}

/** Whether the prediction of a rating is in the sample of those without learning. */
function isSampled({ isGuarded }: LearnedVersion, user: Uint8Array, item: ByteSpan): boolean {
  return isGuarded ? isPairInSample(user, item) : isInSample(user)
}

function spanOf(bytes: Uint8Array): ByteSpan {
  return { bytes, start: 0, length: bytes.length }
}

function rateLimit(perSecond: number | undefined): RateLimit | undefined {
  return perSecond === undefined ? undefined : new RateLimit(perSecond)
}
