import { SCREEN_LANES } from '../../core/kernels/screen-kernels.ts'
import { type ScreenQuery, screenQueryOf } from '../../core/kernels/screen-query.ts'
import type { TopKHeap } from './heap.ts'
import type { TopKShadow } from './shadow.ts'
import type { TopKShadows } from './shadows.ts'
import {
  type Backoff,
  backoffAfterScoring,
  backoffAfterScreening,
  encodingsOfPass,
  NO_BACKOFF,
  type SegmentStep,
  segmentStep,
  tooMany,
} from './step.ts'

/** Rows that are scored together. */
const PLACES = 4

/** A row that may be a result, with its score and the place of its key. */
export interface FoundRow {
  readonly score: number
  readonly row: number
  readonly key: Uint8Array
  readonly at: number
  readonly length: number
}

/** What the scan decides. */
export interface ScreenedScan {
  /** Scores a row for one query, in place, under its sequence word. */
  score(heap: TopKHeap, row: number): void
  /** Whether a row of the segment that is allowed may be a result. */
  accepts(heap: TopKHeap, key: Uint8Array, length: number): boolean
  /** The score of a row of the segment with the boosts of its tags. */
  boosted(heap: TopKHeap, found: FoundRow): number
  /** The score that rows of the segment must beat for a query, boosts left out. */
  threshold(query: number): number
  /** Whether the rules of a query allow a row. */
  allows(query: number, row: number): boolean
}

/** Options of one pass over a table. */
export interface ScreenOptions {
  /** Codes of the table. */
  readonly shadow: TopKShadow
  /** All codes of the thread, which limit the memory. */
  readonly shadows: TopKShadows
  /** Heaps of the queries. */
  readonly heaps: readonly TopKHeap[]
  readonly scan: ScreenedScan
}

/**
 * One pass over a table by its codes. The candidates of each segment are scored from their floats, so
 * the heaps get exactly the rows that they would get if every row were scored.
 */
export class TopKScreen {
  private readonly shadow: TopKShadow
  private readonly shadows: TopKShadows
  private readonly heaps: readonly TopKHeap[]
  private readonly scan: ScreenedScan
  private encodings: number
  private backoff: Backoff = NO_BACKOFF
  private readonly key: Uint8Array
  private readonly rows = new Int32Array(PLACES)
  private readonly sequences = new Int32Array(PLACES)

  private constructor({ shadow, shadows, heaps, scan }: ScreenOptions) {
    this.shadow = shadow
    this.shadows = shadows
    this.heaps = heaps
    this.scan = scan
    this.key = new Uint8Array(shadow.reader.layout.maxKeyBytes)
    this.encodings = encodingsOfPass(shadow.reader.segments)
  }

  /** A pass for up to 16 queries; undefined if one of them cannot be coded. */
  static begin(options: ScreenOptions): TopKScreen | undefined {
    const vectors = options.heaps.map((heap) => heap.query.vector)
    const queries: ScreenQuery[] = []
    for (const vector of vectors) {
      const query = screenQueryOf(vector)
      if (query === undefined) return undefined
      queries.push(query)
    }
    options.shadow.writeQueries(vectors, queries)
    return new TopKScreen(options)
  }

  /** Screens a segment. False when the caller must score all its rows. */
  run(segment: number): boolean {
    const step = this.stepOf(segment)
    if (step === 'encode') this.encode(segment)
    else if (step === 'refresh') this.shadow.refresh(segment)
    if (step === 'score') {
      this.backoff = backoffAfterScoring(this.backoff)
      return false
    }
    return this.screen(segment)
  }

  private stepOf(segment: number): SegmentStep {
    const { shadow, heaps, shadows, scan } = this
    const coded = shadow.isCoded(segment)
    return segmentStep({
      rows: shadow.reader.layout.rowsPerSegment,
      coded,
      writesSinceCoded: shadow.writesSinceCoded(segment),
      writesSinceScan: shadow.writesSinceScan(segment),
      bounded: heaps.every((_, query) => scan.threshold(query) > Number.NEGATIVE_INFINITY),
      waiting: this.backoff.waiting,
      mayEncode: !coded && this.encodings > 0 && shadows.hasRoom(shadow),
    })
  }

  private encode(segment: number): void {
    this.encodings--
    this.shadow.encode(segment)
  }

  private screen(segment: number): boolean {
    const { shadow, heaps } = this
    let found = 0
    for (let from = 0; from < heaps.length; from += SCREEN_LANES) {
      const queries = Math.min(SCREEN_LANES, heaps.length - from)
      for (let n = from; n < from + queries; n++) shadow.setThreshold(n, this.scan.threshold(n))
      found += shadow.screen(segment, from, queries)
    }
    const first = segment * shadow.reader.layout.rowsPerSegment
    for (let query = 0; query < heaps.length; query++) {
      if (heaps[query]!.query.tags === undefined) continue
      found -= shadow.dropCandidates(query, (row) => !this.scan.allows(query, first + row))
    }
    const useful = !tooMany(found, heaps.length)
    this.backoff = backoffAfterScreening(this.backoff, useful)
    if (!useful) return false
    for (let query = 0; query < heaps.length; query++) this.scoreCandidates(query, first)
    return true
  }

  private scoreCandidates(query: number, first: number): void {
    const { shadow } = this
    const count = shadow.candidatesOf(query)
    for (let from = 0; from < count; from += PLACES) {
      const places = Math.min(PLACES, count - from)
      for (let place = 0; place < places; place++) {
        const row = first + shadow.candidate(query, from + place)
        this.rows[place] = row
        this.sequences[place] = shadow.reader.openRow(row)
        shadow.stage(place, row)
      }
      shadow.scoreStaged(query)
      for (let place = 0; place < places; place++) this.offer(query, place)
    }
  }

  /** Offers a staged row to the heap. A row that has changed since it was staged is scored again. */
  private offer(query: number, place: number): void {
    const { reader } = this.shadow
    const heap = this.heaps[query]!
    const row = this.rows[place]!
    const sequence = this.sequences[place]!
    const score = this.shadow.scoreAt(place)
    const wanted = reader.isLive(row) && score > heap.bound
    const length = wanted ? reader.keyInto(row, this.key, 0) : 0
    if ((sequence & 1) !== 0 || !reader.unchanged(row, sequence)) this.scan.score(heap, row)
    else if (wanted && this.scan.accepts(heap, this.key, length)) {
      const found = { score, row, key: this.key, at: 0, length }
      heap.offer(this.scan.boosted(heap, found), this.key, 0, length)
    }
  }
}
