import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundle, bundleEachModule, copyPrograms } from '../scripts/build-package.ts'
import { BUILT_MODULES_VARIABLE } from './run/setup/built-modules.ts'
import { BUILT_ENTRY_VARIABLE, BUILT_PACKAGE_VARIABLE } from './system/cli/command-process.ts'

const ROOT = resolve(import.meta.dirname, '..')

/**
 * Global setup of system tests: joins the modules of `src` into few files, as in the package, in five seconds, unless
 * `.ci/run` has done so, and once more so that each can be imported (`run/setup/built-modules.ts`). A job that starts from
 * them needs half of the processor time, and these tests start hundreds.
 */
export async function setup(): Promise<(() => void) | undefined> {
  // Another project of the same run has built it and removes it.
  if (process.env[BUILT_ENTRY_VARIABLE] !== undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'weir-built-'))
  const source = { modules: join(ROOT, 'src'), ending: '.ts' } as const
  const built = process.env[BUILT_PACKAGE_VARIABLE]
  const dist = built ?? packageIn(join(folder, 'package'))
  if (built === undefined) {
    await bundle({ ...source, folder: dist })
    copyPrograms(dist)
  }
  const modules = packageIn(join(folder, 'modules'))
  await bundleEachModule({ ...source, folder: modules })
  copyPrograms(modules)
  process.env[BUILT_ENTRY_VARIABLE] = join(dist, 'cli/main.js')
  process.env[BUILT_MODULES_VARIABLE] = `${pathToFileURL(modules).href}/`
  return () => {
    delete process.env[BUILT_ENTRY_VARIABLE]
    delete process.env[BUILT_MODULES_VARIABLE]
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Makes the folder of a package, with what is beside its modules, and returns the one of its modules. */
function packageIn(folder: string): string {
  const dist = join(folder, 'dist')
  mkdirSync(dist, { recursive: true })
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  // The packages and the dashboard are where they are in a checkout.
  for (const name of ['node_modules', 'dashboard'])
    symlinkSync(join(ROOT, name), join(folder, name))
  return dist
}
