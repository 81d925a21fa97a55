import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { writeTokens } from '../../../../src/http/access/tokens-on-disk.ts'
import { watchTokens } from '../../../../src/http/access/watch/tokens-watch.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { until } from '../../../run/until.ts'
import { tokenOf } from '../tokens.ts'

function watched() {
  const file = join(mkdtempSync(join(tmpdir(), 'weir-tokens-')), 'tokens.json')
  const clock = new ManualClock()
  const seen: string[] = []
  writeTokens(file, [tokenOf(1).record])
  let stamp = 0
  /** A changed file has another time of change, however fast the test is. */
  const changed = (): void => {
    stamp += 1
    utimesSync(file, stamp, stamp)
  }
  changed()
  const cancel = watchTokens({
    file,
    clock,
    onChange: (records) => seen.push(records.map(({ id }) => id).join(',')),
    onError: (error) => seen.push((error as { code: string }).code),
  })
  const rests = () => until('the watch waits for its next look', () => clock.pending === 1)
  const look = async (): Promise<void> => {
    await rests()
    clock.advance(1_000)
    await rests()
  }
  /** Looks until `count` changes were reported. */
  const reported = async (count: number): Promise<void> => {
    while (seen.length < count) await look()
  }
  return { file, clock, seen, look, reported, changed, cancel }
}

describe('watchTokens', () => {
  it('reports the tokens at its first look and after each change', async () => {
    const { file, seen, look, reported, changed, cancel } = watched()
    await reported(1)
    await look()
    writeTokens(file, [tokenOf(2).record, tokenOf(3).record])
    changed()
    await reported(2)
    await look()
    expect(seen).toEqual(['010101010101', '020202020202,030303030303'])
    cancel()
  })

  it('reports a token that was revoked before its first look', async () => {
    const { file, seen, reported, changed, cancel } = watched()
    writeTokens(file, [])
    changed()
    await reported(1)
    expect(seen[0]).toBe('')
    cancel()
  })

  it('reports a file that is broken or missing, and recovers when it is whole again', async () => {
    const { file, seen, reported, changed, cancel } = watched()
    await reported(1)
    writeFileSync(file, 'broken')
    changed()
    await reported(2)
    rmSync(file)
    await reported(3)
    writeTokens(file, [tokenOf(4).record])
    changed()
    await reported(4)
    expect(seen.slice(1)).toEqual(['MALFORMED_DATA', 'FILE_NOT_FOUND', '040404040404'])
    cancel()
  })

  it('reports nothing after it is canceled', async () => {
    const { file, clock, seen, reported, changed, cancel } = watched()
    await reported(1)
    cancel()
    writeTokens(file, [])
    changed()
    clock.advance(1_000)
    expect(clock.pending).toBe(0)
    expect(seen).toEqual(['010101010101'])
  })
})
