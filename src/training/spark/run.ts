import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WeirError } from '../../core/errors.ts'

/** The program that ships in the package. */
const PROGRAM = fileURLToPath(new URL('train.py', import.meta.url))
/** Last characters of what Spark writes that are kept, for the error. */
const KEPT = 64 * 1024
/** Lines of it that the error shows. */
const SHOWN_LINES = 5
/** How the program says that the data are wrong. */
const OWN_ERROR = 3

/** Where the ratings of a training are, as the program reads them. Columns are positions from 0. */
export interface SparkRatings {
  /** A URL that Spark reads. */
  readonly ratings: string
  readonly format: 'parquet' | 'text'
  /** Text: what is between two fields; a blank stands for any number of blanks and tabs. */
  readonly separator: string
  /** Text: whether the first line of each file names the columns. */
  readonly header: boolean
  /** Without `rating` each line counts 1. */
  readonly columns: Readonly<Record<string, number>>
  readonly countBadLines: boolean
}

/** A training of factors. */
export interface SparkAlsTask extends SparkRatings {
  readonly kind: 'als'
  readonly factors: number
  readonly iterations: number
  readonly regularization: number
  readonly implicit: boolean
  readonly alpha: number
  readonly seed: number
}

/** A training of weights. */
export interface SparkLinearTask {
  readonly kind: 'linear'
  /** URL of LIBSVM text. */
  readonly examples: string
  readonly loss: 'hinge' | 'logistic'
  /** C: weight of the losses against the square of the weights. */
  readonly cost: number
  /** In place of the cost: lambda, the weight of the squares against the mean loss. */
  readonly ridge?: number
  readonly l1: number
  readonly positiveWeight: number
  readonly intercept: boolean
  readonly standardization: boolean
  readonly iterations: number
}

/** What the program trains; `out` is the URL of a folder that is not there yet, for what it writes. */
export type SparkTask = (SparkAlsTask | SparkLinearTask) & { readonly out: string }

/** How Spark is run. */
export interface SparkRun {
  /** Master of the cluster: `local[4]`, `spark://host:7077`, `yarn`, `k8s://...`. */
  readonly master: string
  /** Environment of Spark: SPARK_HOME and PATH say where it is. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Ends Spark, and throws its reason. */
  readonly signal: AbortSignal
  /** Gets the name of each stage: reading, training, writing. */
  readonly onStage: (stage: string) => void
}

/**
 * Runs the program by `spark-submit`, as a client of the cluster. Resolves when the model is written. Throws UNSUPPORTED
 * without Spark, Java or NumPy, MALFORMED_DATA for data that cannot be trained on, and CONNECTOR_FAILED if Spark fails.
 */
export async function runSpark(task: SparkTask, run: SparkRun): Promise<void> {
  const { master, env, signal } = run
  signal.throwIfAborted()
  const quiet = ['spark.ui.showConsoleProgress=false', 'spark.sql.ansi.enabled=false']
  const local = master.startsWith('local') ? ['spark.ui.enabled=false'] : []
  const settings = [...quiet, ...local].flatMap((setting) => ['--conf', setting])
  const words = ['--master', master, '--deploy-mode', 'client', '--name', `weir train ${task.kind}`]
  const child = spawn(sparkSubmit(env), [...words, ...settings, PROGRAM, JSON.stringify(task)], {
    env: withoutEmptyHome(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stop = (): boolean => child.kill()
  signal.addEventListener('abort', stop)
  try {
    const { code, text } = await ended(child, run.onStage)
    signal.throwIfAborted()
    if (code !== 0) throw failure(code, text, master)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** The command of Spark: of SPARK_HOME, else on the PATH. */
function sparkSubmit(env: SparkRun['env']): string {
  const home = env['SPARK_HOME']
  return home === undefined || home === '' ? 'spark-submit' : join(home, 'bin', 'spark-submit')
}

/** Spark's scripts take an empty SPARK_HOME for the root folder. */
function withoutEmptyHome(env: SparkRun['env']): Record<string, string | undefined> {
  const { SPARK_HOME: home, ...rest } = env
  return home === undefined || home === '' ? rest : { ...rest, SPARK_HOME: home }
}

/** Exit status of Spark, and the end of what it wrote on standard error. */
interface Ended {
  readonly code: number | null
  readonly text: string
}

function ended(child: ChildProcess, onStage: SparkRun['onStage']): Promise<Ended> {
  let [text, line] = ['', '']
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    text = (text + piece).slice(-KEPT)
  })
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    const lines = (line + piece).split('\n')
    line = lines.pop()!.slice(-KEPT)
    for (const each of lines) {
      if (each.startsWith('weir stage ')) onStage(each.slice('weir stage '.length))
    }
  })
  return new Promise((resolve, reject) => {
    child.on('error', (cause) => reject(noSpark(cause)))
    child.on('close', (code) => resolve({ code, text }))
  })
}

function noSpark(cause: Error): WeirError {
  const message = `--engine spark needs Spark, and its command does not start (${cause.message}): run \`pip install pyspark numpy\` with Java 17 or newer and put its folder "bin" on the PATH, or set SPARK_HOME`
  return new WeirError('UNSUPPORTED', message, { cause })
}

function failure(code: number | null, text: string, master: string): WeirError {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const own = lines.findLast((line) => line.startsWith('weir: '))
  if (code === OWN_ERROR && own !== undefined) {
    return new WeirError('MALFORMED_DATA', own.slice('weir: '.length))
  }
  if (/JAVA_HOME is not set|java: (command )?not found/.test(text)) {
    const message =
      'Spark finds no Java: install Java 17 or newer, for example with `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME'
    return new WeirError('UNSUPPORTED', message)
  }
  const missing = /No module named '(numpy|pyspark)[.']/.exec(`${text}'`)?.[1]
  if (missing !== undefined) {
    const message = `the Python of Spark has no ${missing}: run \`pip install ${missing}\`, or name another Python in PYSPARK_PYTHON`
    return new WeirError('UNSUPPORTED', message)
  }
  const errors = lines.filter((line) => /(Error|Exception)\b/.test(line))
  const shown = (errors.length > 0 ? errors : lines).slice(-SHOWN_LINES).join('\n  ')
  const message = `Spark (--master ${master}) ended with status ${code}:\n  ${shown}`
  return new WeirError('CONNECTOR_FAILED', message)
}
