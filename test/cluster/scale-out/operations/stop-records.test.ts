import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  StopRecords,
  stoppedSentence,
} from '../../../../src/cluster/scale-out/operations/stop-records.ts'

const ID = '0123456789abcdef'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'weir-stop-records-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

describe('the record of a stopped job', () => {
  it('is of one job, and names the place that starts it again', async () => {
    const place = folder()
    const records = new StopRecords(place, 'counts')
    const written = await records.write('stopped', { id: ID, nowMs: 1_000 })
    expect(await records.newest()).toEqual(written)
    expect(await new StopRecords(place, 'other').newest()).toBeUndefined()
    expect(stoppedSentence('counts', written)).toBe(
      `job "counts" was stopped by a command at 1970-01-01T00:00:01Z and does not run; start it again with --restore-from ${written.place}`,
    )
  })

  it('of a later stop holds where the place of an earlier one is named', async () => {
    const records = new StopRecords(folder(), 'counts')
    const first = await records.write('stopped', { id: ID, nowMs: 1_000 })
    expect(await records.release(first.place)).toBeUndefined()
    const second = await records.write('cancelled', { id: ID.replace('0', 'f'), nowMs: 2_000 })
    expect(await records.release(first.place)).toEqual(second)
    expect(await records.newest()).toEqual(second)
    expect(await records.release(second.place)).toBeUndefined()
    expect(await records.newest()).toBeUndefined()
  })

  it.each(['/savepoints/savepoint-1a2b3c-0123456789ab', '3', `/scale-out-stopped/other/${ID}`])(
    'is not at %s: a savepoint of a job in one process does not fit',
    async (place) => {
      const records = new StopRecords(folder(), 'counts')
      await expect(records.release(place)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    },
  )
})
