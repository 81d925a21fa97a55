import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { ANY_VERSION, NO_VERSION, type ProgressBoard } from '../../state/catalog/progress-board.ts'
import type { StateCatalog } from '../../state/catalog/state-catalog.ts'
import type { Consistency, ReadPosition } from '../../wire/model-reader.ts'
import type { BoundRequest } from './bound-waiters.ts'

/**
 * Decides whether slots have reached the bounds of `at-least` and `bounded` requests. A slot's progress
 * counts only when this thread knows every table that the slot has opened: until then rows are read in the
 * tables of an earlier incarnation, which the records behind the progress did not reach.
 */
export class ReadBounds {
  private readonly board: ProgressBoard
  private readonly catalog: StateCatalog
  private readonly clock: Clock

  constructor(board: ProgressBoard, catalog: StateCatalog, clock: Clock) {
    this.board = board
    this.catalog = catalog
    this.clock = clock
  }

  /** Throws INVALID_ARGUMENT or UNSUPPORTED for a position that could never be reached. */
  require(consistency: Consistency): void {
    if (consistency.level !== 'at-least') return
    const { source = 0, partition } = consistency
    const { sources, partitions } = this.board.share
    const tracked = sources[source]
    if (tracked === undefined || partition < 0) {
      const names = sources.map(({ uid }, number) => `${number} (${uid})`).join(', ')
      throw new WeirError(
        'INVALID_ARGUMENT',
        `at-least names partition ${partition} of source ${source}; use the position of an answer, of one of the sources ${names}`,
      )
    }
    if (partition >= partitions) {
      const message = `at-least names partition ${partition} of source "${tracked.uid}"; progress is tracked for the first ${partitions} partitions`
      throw new WeirError('UNSUPPORTED', message)
    }
    const known = this.board.partitionsOf(source)
    if (known !== undefined && partition >= known) {
      const message = `at-least names partition ${partition} of source "${tracked.uid}", which has partitions 0 to ${known - 1}; use the position of an answer`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    if (!tracked.tracked) {
      const message = `records of source "${tracked.uid}" change no keyed state themselves; use the position of an answer`
      throw new WeirError('UNSUPPORTED', message)
    }
    if (tracked.returnsThrough !== 'checkpoints') return
    const message = `what records of source "${tracked.uid}" change comes back with a checkpoint; ask for consistency bounded or live`
    throw new WeirError('UNSUPPORTED', message)
  }

  /**
   * Whether the slot has reached the bound of an `at-least` or `bounded` request, as far as one look can
   * tell: false for a source whose effects return through another one.
   */
  hasReached(slot: number, consistency: Consistency, version: number): boolean {
    switch (consistency.level) {
      case 'at-least': {
        const { sources } = this.board.share
        if (sources[consistency.source ?? 0]!.returnsThrough !== undefined) return false
        return this.hasApplied(slot, consistency, version)
      }
      case 'bounded': {
        const asOf = this.board.oldestAsOfMs(slot)
        if (asOf === 0 || this.clock.monotonicMs() - asOf > consistency.maxAgeMs) return false
        return this.catalog.knowsTables(slot, this.board)
      }
      default:
        return true
    }
  }

  /** Whether the slot has applied the record at a position, for this model version. */
  private hasApplied(
    slot: number,
    { source = 0, partition, offset }: ReadPosition,
    version: number,
  ): boolean {
    const { board } = this
    if (!this.holdsFor(board.progressVersion(slot, partition, source), version)) return false
    if (!(board.nextOffset(slot, partition, source) > offset)) return false
    // Before its first report, progress is that of the restored checkpoint, which earlier tables have, too.
    return !board.hasReported(slot) || this.catalog.knowsTables(slot, board)
  }

  private holdsFor(held: number, version: number): boolean {
    return held === ANY_VERSION || held === version || (version === 0 && held !== NO_VERSION)
  }

  /**
   * Whether every slot has applied the record at a position and has written what it caused: a later look at
   * the source through which it returns finds it.
   */
  private hasWritten({ source = 0, partition, offset }: ReadPosition, version: number): boolean {
    const { board } = this
    board.wantWritten(this.clock.monotonicMs())
    for (let slot = 0; slot < board.share.slots; slot++) {
      if (!board.hasReported(slot)) return false
      if (!this.holdsFor(board.progressVersion(slot, partition, source), version)) return false
      if (!(board.writtenOffset(slot, partition, source) > offset)) return false
    }
    return true
  }

  /** Whether the slot has reached what a waiting request waits for now. */
  isReached(slot: number, { consistency, version, returned }: BoundRequest): boolean {
    if (returned !== undefined) {
      const { source, asOfMs } = returned
      if (this.board.sourceAsOfMs(slot, source) < asOfMs) return false
      return this.catalog.knowsTables(slot, this.board)
    }
    if (consistency.level === 'at-least' && this.returnPath(consistency) !== undefined) {
      return this.hasWritten(consistency, version)
    }
    return this.hasReached(slot, consistency, version)
  }

  /** The source through which the effects of the record of the bound return; undefined when there is none. */
  returnPath(consistency: Consistency): number | undefined {
    if (consistency.level !== 'at-least') return undefined
    const through = this.board.share.sources[consistency.source ?? 0]!.returnsThrough
    return typeof through === 'number' ? through : undefined
  }
}
