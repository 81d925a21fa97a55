import { describe, expect, it } from 'vitest'
import { ProgressBar } from '../../../src/cli/command/progress-bar.ts'
import { recordedIo } from '../recorded-io.ts'

describe('a progress bar', () => {
  it('is rewritten in place on a terminal', () => {
    const { io, err, rewritten } = recordedIo({ terminal: true })
    const bar = new ProgressBar(io, 'loading', () => 0)
    bar.update(1, 4, 'a quarter')
    bar.update(4, 4)
    bar.finish()
    expect(rewritten[0]).toBe('[#####...............] loading  25 % a quarter')
    expect(rewritten.at(-1)).toBe('')
    expect(err).toEqual([])
  })

  it('is a line every two seconds without a terminal, and one at the end', () => {
    const { io, err } = recordedIo()
    let now = 0
    const bar = new ProgressBar(io, 'loading', () => now)
    for (; now <= 3000; now += 500) bar.update(now, 4000)
    bar.update(4000, 4000)
    bar.finish()
    expect(err.map((line) => line.trim())).toEqual([
      'loading   0 %',
      'loading  50 %',
      'loading 100 %',
    ])
  })
})
