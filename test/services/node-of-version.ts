import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { oneAtATime } from './one-at-a-time.ts'

const run = promisify(execFile)

/**
 * Installs a Node of this version for this platform from npm below `.weir/services`, once, and returns its
 * program. Undefined, with the reason printed, where the registry or a package for the platform is missing.
 */
export function nodeOfVersion(version: string): Promise<string | undefined> {
  const name = `node-${process.platform}-${process.arch}`
  const folder = resolve('.weir/services', `${name}-${version}`)
  return oneAtATime(`${folder}.lock`, () => installed(name, version, folder))
}

async function installed(
  name: string,
  version: string,
  folder: string,
): Promise<string | undefined> {
  const program = join(folder, 'node_modules', name, 'bin', 'node')
  const complete = join(folder, 'complete')
  if (existsSync(complete)) return program
  try {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    await run('npm', ['install', '--prefix', folder, ...quiet, `${name}@${version}`], {
      timeout: 200_000,
    })
    mkdirSync(complete)
    return program
  } catch (error) {
    console.log(`skipped: ${name}@${version} cannot be installed: ${String(error).slice(0, 300)}`)
    return undefined
  }
}
