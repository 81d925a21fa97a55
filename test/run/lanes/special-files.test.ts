import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { ALONE_FILES, LONG_FILES } from './special-files.ts'

it('the files that run alone or first exist', () => {
  const named = [...Object.keys(ALONE_FILES), ...LONG_FILES]
  const root = resolve(import.meta.dirname, '../../..')
  expect(named.filter((file) => !existsSync(resolve(root, file)))).toEqual([])
})
