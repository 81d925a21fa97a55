import { describe, expect, it } from 'vitest'
import { SourceProgress } from '../../../src/runtime/source/progress.ts'

interface Report {
  readonly partition: number
  readonly nextOffset: number
  readonly asOfMs: number
}

function progressOf(): { progress: SourceProgress; reports: Report[] } {
  const reports: Report[] = []
  const progress = new SourceProgress((partition, { nextOffset, asOfMs }) => {
    reports.push({ partition, nextOffset, asOfMs })
  }, false)
  progress.found([{ partition: 3, nextOffset: 7 }])
  return { progress, reports }
}

describe('a source that waits', () => {
  it('reports what is new at once, then as of now', () => {
    const { progress, reports } = progressOf()
    progress.tick(1000, true)
    progress.tick(1001, true)
    expect(reports).toEqual([{ partition: 3, nextOffset: 7, asOfMs: 1000 }])
    progress.update(3, 8, 1001, false)
    progress.tick(1002, true)
    expect(reports.at(-1)).toEqual({ partition: 3, nextOffset: 8, asOfMs: 1002 })
  })

  it('asks to be woken 100 ms after its last report', () => {
    const { progress } = progressOf()
    progress.tick(1000, true)
    expect(progress.nextReportInMs(1010)).toBe(90)
    expect(progress.nextReportInMs(1110)).toBe(0)
  })

  it('reports with another slot that woke its own from 50 ms on, which postpones the next report', () => {
    const { progress, reports } = progressOf()
    progress.tick(1000, true)
    progress.tick(1049.9, true)
    expect(reports).toHaveLength(1)
    progress.tick(1050, true)
    expect(reports.at(-1)?.asOfMs).toBe(1050)
    expect(progress.nextReportInMs(1050)).toBe(100)
  })
})

describe('a busy source', () => {
  it('reports what it has read at most each 5 ms, and nothing when it has read nothing', () => {
    const { progress, reports } = progressOf()
    progress.tick(1000, false)
    progress.update(3, 9, 1001, false)
    progress.tick(1004, false)
    expect(reports).toHaveLength(1)
    progress.tick(1005, false)
    progress.tick(1010, false)
    expect(reports.map(({ nextOffset }) => nextOffset)).toEqual([7, 9])
  })
})
