import type { Serializer } from '../../core/serializer.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { isEventTime } from '../port/event-time.ts'
import { type AlignedWindows, lastWindowStart } from '../windows/assigner.ts'
import { PartFold, type PartFoldOptions, type WaitingPart } from './part-fold.ts'
import { PartsByKey } from './parts-by-key.ts'

/** Options of a local fold. */
export interface LocalFoldOptions<IN, ACC> extends PartFoldOptions<IN, ACC> {
  readonly windows: AlignedWindows
}

/** Folds the records of aligned windows before they cross an edge, by key and slice of time. */
export class LocalFold<IN, ACC> extends PartFold<IN, ACC> {
  private readonly windows: AlignedWindows
  private readonly keySerializer: Serializer<unknown>
  private readonly isEventTime: boolean
  /** Parts by the start of their slice. */
  private readonly slices = new Map<number, PartsByKey<WaitingPart<ACC>>>()
  private lastStart = Number.NaN
  private lastSlice: PartsByKey<WaitingPart<ACC>>
  /** For the next slice. */
  private spare: PartsByKey<WaitingPart<ACC>> | undefined

  constructor(options: LocalFoldOptions<IN, ACC>) {
    super(options, options.windows.slideMs !== options.windows.sizeMs)
    this.windows = options.windows
    this.keySerializer = options.keySerializer
    this.isEventTime = options.windows.timeDomain === 'event-time'
    this.lastSlice = new PartsByKey(options.keySerializer)
  }

  protected place(key: unknown, value: IN, timestamp: number): boolean {
    if (this.isEventTime && !isEventTime(timestamp)) return false
    const start = this.isEventTime ? lastWindowStart(this.windows, timestamp) : 0
    if (!this.mayFold(key, value, start, this.windows.sizeMs)) return false
    const slice = start === this.lastStart ? this.lastSlice : this.sliceOf(start)
    const found = slice.find(key)
    if (found !== undefined) this.fold(found, value)
    // A slice of more than a moment that begins at -1 has 0 in it, too.
    else slice.put(this.begin(key, value, start === NO_TIMESTAMP ? 0 : start))
    return true
  }

  protected forget(): void {
    this.slices.clear()
    this.lastStart = Number.NaN
    this.lastSlice.clear()
    this.spare = this.lastSlice
  }

  private sliceOf(start: number): PartsByKey<WaitingPart<ACC>> {
    let slice = this.slices.get(start)
    if (slice === undefined) {
      slice = this.spare ?? new PartsByKey<WaitingPart<ACC>>(this.keySerializer)
      this.spare = undefined
      this.slices.set(start, slice)
    }
    this.lastStart = start
    this.lastSlice = slice
    return slice
  }
}
