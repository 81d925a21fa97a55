import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { oneAtATime } from './one-at-a-time.ts'

const run = promisify(execFile)

/** Folder of downloaded services; git ignores `.weir`. */
const CACHE = resolve('.weir/services')

/**
 * Installs Python packages from PyPI into a virtual environment below `.weir/services`, once, and returns
 * its interpreter. Undefined, with the reason printed, where Python or the registry is missing.
 */
export function pythonWith(...packages: readonly string[]): Promise<string | undefined> {
  const name = packages.join('-').replaceAll(/[^A-Za-z0-9.-]+/g, '-')
  const folder = join(CACHE, `python-${name}`)
  return oneAtATime(`${folder}.lock`, () => installed(packages, folder))
}

async function installed(packages: readonly string[], folder: string): Promise<string | undefined> {
  const interpreter = join(folder, 'bin', 'python')
  const complete = join(folder, 'complete')
  if (existsSync(complete)) return interpreter
  try {
    const pip = await oneAtATime(join(CACHE, 'pip.lock'), pipInterpreter)
    rmSync(folder, { recursive: true, force: true })
    await run('python3', ['-m', 'venv', '--without-pip', folder], { timeout: 200_000 })
    // Python compiles what a test imports, a small part of the packages, when it does.
    const options = ['--quiet', '--disable-pip-version-check', '--no-compile']
    const words = ['-m', 'pip', '--python', interpreter, 'install', ...options, ...packages]
    await run(pip, words, { timeout: 200_000 })
    mkdirSync(complete)
    return interpreter
  } catch (error) {
    console.log(
      `skipped: ${packages.join(', ')} cannot be installed: ${String(error).slice(0, 300)}`,
    )
    return undefined
  }
}

/** A Python that has pip, which installs for the others: to install pip itself takes some seconds of a processor. */
async function pipInterpreter(): Promise<string> {
  const folder = join(CACHE, 'pip')
  const interpreter = join(folder, 'bin', 'python')
  const complete = join(folder, 'complete')
  if (existsSync(complete)) return interpreter
  rmSync(folder, { recursive: true, force: true })
  await run('python3', ['-m', 'venv', folder], { timeout: 200_000 })
  mkdirSync(complete)
  return interpreter
}
