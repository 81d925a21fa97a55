import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { type HoldingTest, MOVED_TESTS } from './moved-tests.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** Whether the name, or its beginning, is a text of the file. */
function exists({ file, test }: HoldingTest): boolean {
  const path = join(ROOT, file)
  if (!existsSync(path)) return false
  const source = readFileSync(path, 'utf8')
  return ["'", '"', '`'].some((quote) => source.includes(`${quote}${test}`))
}

it.each(MOVED_TESTS)('a test holds that $promise', ({ now }) => {
  expect(now).not.toEqual([])
  expect(now.filter((one) => !exists(one))).toEqual([])
})
