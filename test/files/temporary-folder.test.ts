import { tmpdir } from 'node:os'
import { afterEach, expect, it, vi } from 'vitest'
import { fastFolder } from './temporary-folder.ts'

afterEach(() => void vi.unstubAllEnvs())

it('unit tests make their folders in memory where there is room, else in the folder of the system', () => {
  vi.stubEnv('TMPDIR', undefined)
  expect(fastFolder(import.meta.dirname, 1)).toBe(import.meta.dirname)
  expect(fastFolder(import.meta.dirname, 2 ** 60)).toBe(tmpdir())
  expect(fastFolder('/no such folder', 1)).toBe(tmpdir())
})

it('a folder that the environment names is taken', () => {
  vi.stubEnv('TMPDIR', '/elsewhere')
  expect(fastFolder(import.meta.dirname, 1)).toBe('/elsewhere')
})
