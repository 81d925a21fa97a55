import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { bundle } from '../scripts/build-package.ts'
import { BUILT_ENTRY_VARIABLE } from './system/cli/command-process.ts'

const ROOT = resolve(import.meta.dirname, '..')

/**
 * Global setup of system tests: joins the modules of `src` into few files, as in the package, in two seconds. A job
 * that starts from them needs half of the processor time, and these tests start hundreds.
 */
export async function setup(): Promise<(() => void) | undefined> {
  // Another project of the same run has built it and removes it.
  if (process.env[BUILT_ENTRY_VARIABLE] !== undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'weir-built-'))
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  // The packages and the dashboard are where they are in a checkout.
  for (const name of ['node_modules', 'dashboard'])
    symlinkSync(join(ROOT, name), join(folder, name))
  const dist = join(folder, 'dist')
  mkdirSync(dist)
  await bundle({ modules: join(ROOT, 'src'), ending: '.ts', folder: dist })
  process.env[BUILT_ENTRY_VARIABLE] = join(dist, 'cli/main.js')
  return () => {
    delete process.env[BUILT_ENTRY_VARIABLE]
    rmSync(folder, { recursive: true, force: true })
  }
}
