import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { ALONE_FILES, LONG_FILES, WAITING_FILES } from './special-files.ts'

it('the files that run alone, first or beside others exist', () => {
  const named = [...Object.keys(ALONE_FILES), ...Object.keys(WAITING_FILES), ...LONG_FILES]
  const root = resolve(import.meta.dirname, '../../..')
  expect(named.filter((file) => !existsSync(resolve(root, file)))).toEqual([])
})
