import { describe, expect, it } from 'vitest'
import { fromCommand, residentBytesOf } from '../../../src/inference/workers/process-memory.ts'

/** A pid that no process has: above what systems give. */
const NONE = 2 ** 30

describe('the memory of a process', () => {
  it('is what the process says of itself', async () => {
    const bytes = await residentBytesOf(process.pid)
    expect(bytes! / process.memoryUsage.rss()).toBeCloseTo(1, 0)
  })

  it('is not known when the process has ended', async () => {
    expect(await residentBytesOf(NONE)).toBeUndefined()
    expect(await fromCommand(NONE)).toBeUndefined()
  })

  it('is the same by the command ps', async () => {
    const kib = await fromCommand(process.pid)
    expect((kib! * 1024) / process.memoryUsage.rss()).toBeCloseTo(1, 0)
  })
})
