import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { BUILT_PACKAGE_VARIABLE, REPOSITORY } from '../cli/command-process.ts'

const BUILT = process.env[BUILT_PACKAGE_VARIABLE]

/** Puts the package as it is published into a folder: its `dist`. */
export async function putPackage(folder: string): Promise<void> {
  await put(folder, 'build-package', BUILT)
}

/** Puts the package of the client into a folder. */
export async function putClientPackage(folder: string): Promise<void> {
  await put(folder, 'build-client-package', BUILT && join(dirname(BUILT), 'dist-client'))
}

/** Copies what is built, or builds it; rejects with the output of a build that fails. */
async function put(folder: string, script: string, built: string | undefined): Promise<void> {
  if (built !== undefined) return cpSync(built, folder, { recursive: true })
  const build = [join(REPOSITORY, `scripts/${script}.ts`), folder]
  await promisify(execFile)(process.execPath, build, { cwd: REPOSITORY })
}
