import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  changeTokens,
  readTokens,
  readTokensIfAny,
  writeTokens,
} from '../../../src/http/access/tokens-on-disk.ts'
import { tokenOf } from './tokens.ts'

const folder = (): string => mkdtempSync(join(tmpdir(), 'weir-tokens-'))

describe('tokens on disk', () => {
  it('are read as they were written, and hold no token', () => {
    const file = join(folder(), 'tokens.json')
    const { text, record } = tokenOf(1)
    writeTokens(file, [record])
    expect(readTokens(file)).toEqual([record])
    expect(readFileSync(file, 'utf8')).not.toContain(text.slice(18))
  })

  it('are readable only for the user of the process, also when an open file was there before', () => {
    const at = folder()
    const file = join(at, 'tokens.json')
    writeFileSync(file, '')
    chmodSync(file, 0o666)
    writeTokens(file, [])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(at)).toEqual(['tokens.json'])
  })

  it('that are missing are an error that names the file, or no tokens', () => {
    const file = join(folder(), 'none.json')
    expect(() => readTokens(file)).toThrow(
      expect.objectContaining({ code: 'FILE_NOT_FOUND', message: expect.stringContaining(file) }),
    )
    expect(readTokensIfAny(file)).toEqual([])
  })

  it('are not changed while another process changes them, but when it has ended in the middle', async () => {
    const at = folder()
    const file = join(at, 'tokens.json')
    const { record } = tokenOf(1)
    const lock = `${file}.lock`
    writeFileSync(lock, 'another process')
    const changed = changeTokens(file, (records) => [...records, record])
    // The first attempt was in the call, and found the lock.
    expect(readTokensIfAny(file)).toEqual([])
    rmSync(lock)
    expect(await changed).toEqual([record])
    writeFileSync(lock, 'a process that was killed')
    utimesSync(lock, 1, 1)
    await changeTokens(file, () => [])
    expect(readTokens(file)).toEqual([])
    expect(readdirSync(at)).toEqual(['tokens.json'])
    const missing = join(at, 'no', 'tokens.json')
    await expect(changeTokens(missing, () => [])).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
  })

  it('in a missing folder are not written', () => {
    expect(() => writeTokens(join(folder(), 'no', 'tokens.json'), [])).toThrow(
      expect.objectContaining({ code: 'FILE_NOT_FOUND' }),
    )
  })
})
