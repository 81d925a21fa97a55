import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readTokens } from '../../../src/http/access/tokens-on-disk.ts'
import { BUILT_MODULES_FLAG } from '../../run/setup/built-modules.ts'

const MODULE = new URL('../../fixtures/tokens.process.ts', import.meta.url)
const EACH = 20

it('two processes that create tokens in the same file at the same time lose none', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-tokens-'))
  const file = join(folder, 'tokens.json')
  const ends = [0, EACH].map((first) =>
    once(fork(MODULE, [file, `${first}`, `${EACH}`], { execArgv: [BUILT_MODULES_FLAG] }), 'exit'),
  )
  expect(await Promise.all(ends)).toEqual([
    [0, null],
    [0, null],
  ])
  expect(new Set(readTokens(file).map(({ id }) => id)).size).toBe(2 * EACH)
  expect(readdirSync(folder)).toEqual(['tokens.json'])
  rmSync(folder, { recursive: true })
})
