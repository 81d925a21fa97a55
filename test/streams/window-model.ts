import { MIN_TIMESTAMP } from '../../src/core/time.ts'
import type { Reading } from './random-functions.ts'

/** The windows of a case. */
export type Assigner =
  | { readonly kind: 'aligned'; readonly size: number; readonly slide: number }
  | { readonly kind: 'session'; readonly gap: number }
  | { readonly kind: 'cumulative'; readonly size: number; readonly step: number }
  /** Windows of several sizes, as a function of one's own assigns them. */
  | { readonly kind: 'sizes'; readonly sizes: readonly number[] }

/** A span of time. */
interface Span {
  readonly start: number
  readonly end: number
}

/** The windows of a time, the one that ends last first. */
export function windowsAt(assigner: Exclude<Assigner, { kind: 'session' }>, time: number): Span[] {
  const startOf = (size: number): number => Math.floor(time / size) * size
  if (assigner.kind === 'sizes') {
    return assigner.sizes.map((size) => ({ start: startOf(size), end: startOf(size) + size }))
  }
  const spans: Span[] = []
  if (assigner.kind === 'cumulative') {
    const start = startOf(assigner.size)
    for (let end = start + assigner.size; end > time; end -= assigner.step) {
      spans.push({ start, end })
    }
    return spans
  }
  const { size, slide } = assigner
  for (let start = startOf(slide); start > time - size; start -= slide) {
    spans.push({ start, end: start + size })
  }
  return spans
}

/** All that a case says of its windows. */
export interface WindowCase {
  readonly assigner: Assigner
  readonly lateness: number
  /** Fires after so many records of a window, and purges or not; undefined fires at the end of the window. */
  readonly count: { readonly of: number; readonly purges: boolean } | undefined
  /** Keeps the last records of a window that fires; undefined keeps all. */
  readonly keeps: number | undefined
  /** Whether records are reduced; otherwise the results list them. */
  readonly reduces: boolean
}

interface Window {
  readonly key: string
  readonly start: number
  readonly end: number
  /** Records in the order in which they came, or one reduced record. */
  readonly contents: Reading[]
  /** Records since the trigger fired. */
  count: number
  /** Whether it fires when its end comes. */
  waits: boolean
}

/**
 * Windows by plain computation, as Flink describes them: a record is added to each of its windows that is not too late;
 * a window fires at its end, and again for each later record until the allowed lateness is over.
 */
export class WindowModel {
  readonly results: string[] = []
  private plan: WindowCase
  private windows: Window[] = []
  private watermark = MIN_TIMESTAMP
  private reduce: (a: Reading, b: Reading) => Reading = (a) => a

  constructor(plan: WindowCase) {
    this.plan = plan
  }

  /** An attempt begins, with a function of its own. */
  begin(reduce: (a: Reading, b: Reading) => Reading): void {
    this.reduce = reduce
  }

  /** The job has other windows from now on. Those that are open keep their bounds. */
  change(plan: WindowCase): void {
    this.plan = plan
  }

  /** A restore from a checkpoint that has no watermark: time begins again, and windows that fired wait for a record. */
  forgetWatermark(): void {
    for (const window of this.windows) {
      if (window.end - 1 <= this.watermark) window.waits = false
    }
    this.watermark = MIN_TIMESTAMP
  }

  add(reading: Reading): void {
    const { assigner } = this.plan
    if (assigner.kind === 'session') {
      this.addToSession(reading, assigner.gap)
      return
    }
    for (const { start, end } of windowsAt(assigner, reading.time)) {
      if (!this.isLate(end)) this.addTo(this.windowAt(reading.key, start, end), reading)
    }
  }

  advance(watermark: number): void {
    if (watermark <= this.watermark) return
    this.watermark = watermark
    for (const window of this.windows) {
      const isDue = window.waits && window.end - 1 <= watermark
      if (isDue) window.waits = false
      if (isDue && this.plan.count === undefined) this.fire(window)
    }
    this.windows = this.windows.filter(({ end }) => !this.isLate(end))
  }

  private isLate(end: number): boolean {
    return end - 1 + this.plan.lateness <= this.watermark
  }

  private windowAt(key: string, start: number, end: number): Window {
    const found = this.windows.find((window) => {
      return window.key === key && window.start === start && window.end === end
    })
    if (found !== undefined) return found
    const made = { key, start, end, contents: [], count: 0, waits: end - 1 > this.watermark }
    this.windows.push(made)
    return made
  }

  private addToSession(reading: Reading, gap: number): void {
    const { key, time } = reading
    const touched = this.windows.filter((window) => {
      return window.key === key && window.start <= time + gap && window.end >= time
    })
    if (touched.length === 0 && this.isLate(time + gap)) return
    const start = Math.min(time, ...touched.map((window) => window.start))
    const end = Math.max(time + gap, ...touched.map((window) => window.end))
    const [first, ...others] = touched
    if (first !== undefined && first.start === start && first.end === end) {
      this.addTo(first, reading)
      return
    }
    const contents = first?.contents ?? []
    for (const { contents: more } of others) this.join(contents, more)
    this.windows = this.windows.filter((window) => !touched.includes(window))
    const joined = { key, start, end, contents, count: 0, waits: end - 1 > this.watermark }
    this.windows.push(joined)
    this.addTo(joined, reading)
  }

  private join(contents: Reading[], more: readonly Reading[]): void {
    for (const each of more) this.put(contents, each)
  }

  private put(contents: Reading[], reading: Reading): void {
    const [sum] = contents
    const folds = this.plan.reduces && this.plan.keeps === undefined
    if (!folds || sum === undefined) contents.push({ ...reading })
    else contents[0] = { ...this.reduce({ ...sum }, { ...reading }) }
  }

  private addTo(window: Window, reading: Reading): void {
    const { count } = this.plan
    this.put(window.contents, reading)
    window.count += 1
    if (count === undefined) {
      if (window.end - 1 <= this.watermark) this.fire(window)
      else window.waits = true
      return
    }
    if (window.count < count.of) return
    window.count = 0
    this.fire(window)
    if (count.purges) window.contents.length = 0
  }

  private fire({ key, start, end, contents }: Window): void {
    const { keeps, reduces } = this.plan
    if (keeps !== undefined) contents.splice(0, contents.length - keeps)
    if (contents.length === 0) return
    const elements =
      reduces && keeps !== undefined
        ? [contents.map((each) => ({ ...each })).reduce((a, b) => this.reduce(a, b))]
        : contents
    this.results.push(resultOf(key, { start, end }, elements, this.plan.assigner))
  }
}

/** A result of a window as text. The records of cumulative windows may be in another order than they came. */
export function resultOf(
  key: string,
  { start, end }: { readonly start: number; readonly end: number },
  elements: readonly Reading[],
  { kind }: Assigner,
): string {
  const texts = elements.map(({ time, value }) => `${time}=${value}`)
  return `${key} ${start}-${end}: ${(kind === 'cumulative' ? texts.sort() : texts).join(' ')}`
}
