import { expect, it, onTestFinished, vi } from 'vitest'
import { BUILT_ENTRY_VARIABLE, entryOf, SOURCE_ENTRY } from './system/cli/command-process.ts'

it('a command runs as it is built, and from source where it runs modules that import the source', () => {
  vi.stubEnv(BUILT_ENTRY_VARIABLE, '/built/main.js')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(entryOf(['learn', 'als', '--port', '0'])).toBe('/built/main.js')
  expect(entryOf(['run', './visits.ts'])).toBe(SOURCE_ENTRY)
  expect(entryOf(['cluster', 'start', '--modules', 'jobs'])).toBe(SOURCE_ENTRY)
  vi.stubEnv(BUILT_ENTRY_VARIABLE, undefined)
  expect(entryOf(['learn', 'als'])).toBe(SOURCE_ENTRY)
})
