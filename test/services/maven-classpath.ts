import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { oneAtATime } from './one-at-a-time.ts'

/** Folder of downloaded services and of what they have made ready; git ignores `.weir`. */
export const CACHE = resolve(import.meta.dirname, '../../.weir/services')

/** Held while `mvn` writes to the folder of downloads. */
export const MAVEN_LOCK = join(CACHE, 'maven.lock')

const run = promisify(execFile)

/** Longest run of a program, ms: a first download with `mvn`. One that takes longer hangs. */
const LONGEST_MS = 600_000

/**
 * The class path of a pom's dependencies. `mvn` downloads them at the first use; the result is cached by the
 * content of the pom. Throws with the package to install when `mvn` is missing.
 */
export function mavenClassPath(pom: string): Promise<string> {
  return oneAtATime(MAVEN_LOCK, () => resolveClassPath(pom))
}

async function resolveClassPath(pom: string): Promise<string> {
  const digest = createHash('sha256')
    .update(await readFile(pom))
    .digest('hex')
    .slice(0, 16)
  const remembered = join(CACHE, `${digest}.classpath`)
  const known = await readFile(remembered, 'utf8').catch(() => undefined)
  if (known?.split(delimiter).every((jar) => existsSync(jar))) return known
  const output = `${remembered}.${process.pid}`
  await runTool('mvn', 'maven', [
    '-B',
    '-q',
    '-f',
    pom,
    `-Dmaven.repo.local=${join(CACHE, 'maven')}`,
    'dependency:build-classpath',
    `-Dmdep.outputFile=${output}`,
  ])
  const classPath = (await readFile(output, 'utf8')).trim()
  await writeFile(output, classPath)
  await rename(output, remembered)
  return classPath
}

/**
 * Runs a program and returns its output. Throws with the name of the Debian package when the program is
 * missing, and with its output when it fails.
 */
export async function runTool(
  program: string,
  aptPackage: string,
  args: readonly string[],
): Promise<string> {
  try {
    const limits = { maxBuffer: 1 << 26, timeout: LONGEST_MS, killSignal: 'SIGKILL' } as const
    const { stdout } = await run(program, args, limits)
    return stdout
  } catch (cause) {
    const failure = cause as { code?: unknown; stdout?: string; stderr?: string }
    if (failure.code === 'ENOENT') throw new Error(missingProgram(program, aptPackage), { cause })
    const said = `${failure.stdout ?? ''}${failure.stderr ?? ''}`.slice(-2000)
    throw new Error(`${program} ${args.join(' ').slice(-300)} failed: ${said}`, { cause })
  }
}

/** The error message for a missing program. */
export function missingProgram(program: string, aptPackage: string): string {
  return `"${program}" is not installed, and these tests run against real services: apt-get install ${aptPackage}`
}
