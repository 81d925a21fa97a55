import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Names the interpreter whose packages the rivals are, where it is not `python3`. */
const PYTHON_VARIABLE = 'WEIR_BENCH_PYTHON'

/** A library for Python that is measured beside Weir. */
export interface PythonRival {
  /** File below `benchmarks/rivals`; it prints one JSON line. */
  readonly script: string
  /** The package to install. */
  readonly packageName: string
}

/**
 * Runs a rival's script and gives what its one JSON line says; undefined, and a sentence why, where
 * the interpreter or the package is missing or the script fails.
 */
export async function runPythonRival<T>(
  rival: PythonRival,
  args: readonly (string | number)[],
  say: (line: string) => void,
): Promise<T | undefined> {
  const python = process.env[PYTHON_VARIABLE] ?? 'python3'
  const script = fileURLToPath(new URL(`rivals/${rival.script}`, import.meta.url))
  // Threads of BLAS would fight with those of the library: `implicit` warns of them.
  const env = { ...process.env, OPENBLAS_NUM_THREADS: '1' }
  try {
    const { stdout } = await promisify(execFile)(python, [script, ...args.map(String)], { env })
    return JSON.parse(stdout) as T
  } catch (error) {
    const cure = `pip install ${rival.packageName}, interpreter in ${PYTHON_VARIABLE}`
    say(`no rival: ${python}: ${reasonOf(error)} (${cure})`)
    return undefined
  }
}

/** The last line that a failed interpreter wrote, which is Python's own reason. */
function reasonOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string }
  const lines = (stderr ?? '').trim().split('\n')
  return lines.at(-1) || message
}
