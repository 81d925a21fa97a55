import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { ownTemporaryFolder } from '../../../src/files/own-folder.ts'
import {
  removeLeftOver,
  spillFolder,
  stateDirectoryOf,
} from '../../../src/runtime/configuration/state-directory.ts'
import { needs } from '../../run/needs.ts'

const root = mkdtempSync(join(tmpdir(), 'weir-state-directory-'))

afterEach(() => void vi.unstubAllEnvs())
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** Makes a new folder for temporary files. */
function temporaryFiles(name: string): void {
  mkdirSync(join(root, name))
  vi.stubEnv('TMPDIR', join(root, name))
}

describe(
  'the folder of spilled state',
  needs(process.platform !== 'win32', 'Windows has no permissions of files'),
  () => {
    it('is the configured one, which nothing makes here', () => {
      const stateDirectory = join(root, 'configured')
      expect(stateDirectoryOf({ stateDirectory })).toBe(stateDirectory)
      expect(existsSync(stateDirectory)).toBe(false)
    })

    it('is one of this user without a configuration', () => {
      temporaryFiles('own')
      const folder = stateDirectoryOf({ stateDirectory: undefined })
      expect(folder).toBe(ownTemporaryFolder('weir-state'))
      expect(existsSync(folder)).toBe(true)
    })

    it('is refused where another user may have put a link, below which a job would delete folders', () => {
      temporaryFiles('planted')
      const precious = join(root, 'precious')
      mkdirSync(precious)
      symlinkSync(precious, ownTemporaryFolder('weir-state'))
      expect(() => stateDirectoryOf({ stateDirectory: undefined })).toThrow(
        expect.objectContaining({
          code: 'PERMISSION_DENIED',
          message: expect.stringContaining('set state.backend.directory'),
        }),
      )
    })

    it('keeps what a process that runs spills, and loses what an ended one or an earlier release left', async () => {
      const directory = join(root, 'spilled')
      const { pid: ended } = spawnSync(process.execPath, ['--version'])
      const own = spillFolder(directory, 'job', 3)
      for (const folder of [
        own,
        join(directory, 'job', `${ended}-77-1`),
        join(directory, 'job', '0-1'),
      ]) {
        mkdirSync(join(folder, '0-1'), { recursive: true })
      }
      await removeLeftOver(directory, 'job')
      expect(
        readdirSync(join(directory, 'job')).map((name) => join(directory, 'job', name)),
      ).toEqual([own])
      expect(spillFolder(directory, 'job', 4)).not.toBe(own)
      await removeLeftOver(directory, 'a job that never ran')
    })
  },
)
