import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Environment variable with the Python interpreter that has the rivals' packages. @default `python3` */
const PYTHON_VARIABLE = 'WEIR_BENCH_PYTHON'

/**
 * The interpreter of the rivals. Packages that do not go together have one each: `WEIR_BENCH_PYTHON_TRITON` is that of
 * the rival `triton`.
 */
export function pythonProgram(rival?: string): string {
  const own = rival === undefined ? undefined : `${PYTHON_VARIABLE}_${rival.toUpperCase()}`
  return process.env[own ?? PYTHON_VARIABLE] ?? process.env[PYTHON_VARIABLE] ?? 'python3'
}

/** A Python library that is measured beside Weir. */
export interface PythonRival {
  /** A file in `benchmarks/rivals` that prints one JSON line. */
  readonly script: string
  /** The package to install. */
  readonly packageName: string
}

/**
 * Runs a rival's script and returns the object of its JSON line. Where the interpreter or the package is
 * missing or the script fails, says why and returns undefined.
 */
export async function runPythonRival<T>(
  rival: PythonRival,
  args: readonly (string | number)[],
  say: (line: string) => void,
): Promise<T | undefined> {
  const python = pythonProgram()
  const script = fileURLToPath(new URL(`./${rival.script}`, import.meta.url))
  // BLAS threads would compete with those of the library; `implicit` warns about them.
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

/** The last line that a failed interpreter wrote: Python's error message. */
function reasonOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string }
  const lines = (stderr ?? '').trim().split('\n')
  return lines.at(-1) || message
}
