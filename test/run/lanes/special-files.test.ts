import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { HEAVY_FILES } from './heavy-files.ts'
import { ALONE_FILES, LONG_FILES, WAITING_FILES } from './special-files.ts'

it('the files that run alone, first, beside all others, or not in the quick part exist', () => {
  const named = [...Object.keys(ALONE_FILES), ...LONG_FILES, ...WAITING_FILES, ...HEAVY_FILES]
  const root = resolve(import.meta.dirname, '../../..')
  expect(named.filter((file) => !existsSync(resolve(root, file)))).toEqual([])
})
