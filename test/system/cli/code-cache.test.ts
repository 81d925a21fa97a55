import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { needs } from '../../run/needs.ts'
import { weir } from './command-process.ts'

const root = mkdtempSync(join(tmpdir(), 'weir-code-cache-'))
const NAME = `weir-code-${process.getuid?.()}`

// Commands would use the folder of this test run.
delete process.env['NODE_COMPILE_CACHE']

afterAll(() => rmSync(root, { recursive: true, force: true }))

describe(
  'the code that a command compiles',
  needs(process.getuid, 'this system has no ids of users'),
  () => {
    it('is kept in a folder of this user alone', async () => {
      const files = join(root, 'own')
      mkdirSync(files)
      expect(await run(files)).toBe(0)
      expect(statSync(join(files, NAME)).mode & 0o777).toBe(0o700)
      expect(readdirSync(join(files, NAME)).length).toBeGreaterThan(0)
      expect(existsSync(join(files, 'node-compile-cache'))).toBe(false)
    })

    it('is neither kept nor run where another user may have put it', async () => {
      const files = join(root, 'planted')
      mkdirSync(join(files, 'elsewhere'), { recursive: true })
      symlinkSync(join(files, 'elsewhere'), join(files, NAME))
      expect(await run(files)).toBe(0)
      expect(readdirSync(join(files, 'elsewhere'))).toEqual([])
    })
  },
)

/** Runs a command with this folder for temporary files; its exit status. */
async function run(files: string): Promise<number | null> {
  const command = weir(['--version'], { env: { TMPDIR: files } })
  return (await command.ended).code
}
