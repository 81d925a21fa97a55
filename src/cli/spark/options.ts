import type { SparkRun } from '../../training/spark/run.ts'
import type { CommandIo, Flags, OptionSpec } from '../command/command.ts'
import { interruptionSignal, needs, UsageError } from '../command/command.ts'
import { kindOf } from '../flag-kinds/flag-kind.ts'
import { place } from '../flag-kinds/places.ts'
import { word } from '../flag-kinds/words.ts'

const MASTER = kindOf(
  {
    sort: 'url',
    shown: 'MASTER',
    takes: 'a master of Spark: local[N], spark://HOST:PORT, yarn or k8s://URL',
  },
  (text) => /^(local(\[[^\]]+\])?|yarn|(spark|k8s):\/\/\S+)$/.test(text),
)

/** Flags of a training that Spark can do. `excludes`: flags that Spark has no counterpart of. */
export function sparkOptions(excludes: readonly string[]): Readonly<Record<string, OptionSpec>> {
  return {
    engine: {
      type: 'string',
      value: word(['local', 'spark']),
      default: 'local',
      help: 'What trains: this process (local), or MLlib on Spark, for more data than one machine has room for',
    },
    master: {
      type: 'string',
      needs: [needs('engine', 'spark')],
      excludes,
      value: MASTER,
      help: 'Where Spark runs: local[N] (N threads of this machine), spark://HOST:PORT, yarn or k8s://URL',
    },
    'spark-folder': {
      type: 'string',
      needs: [needs('engine', 'spark')],
      value: place(),
      help: 'Folder for what Spark writes until it is published, which its machines and this one reach (default with local[N]: in the data folder)',
    },
  }
}

/** Whether Spark trains. Throws UsageError where it does not say on which cluster. */
export function isOnSpark(flags: Flags): boolean {
  if (flags.string('engine') !== 'spark') return false
  if (flags.optional('master') !== undefined) return true
  throw new UsageError(
    '--engine spark needs --master: local[2] for this machine, or spark://HOST:PORT, yarn or k8s://URL',
  )
}

/** How Spark is run, as the flags say. The stages are shown on standard error. */
export function sparkRunOf(flags: Flags, io: CommandIo): SparkRun {
  const master = flags.string('master')
  return {
    master,
    env: io.env,
    signal: interruptionSignal(io),
    onStage: (stage) => io.err(`Spark (${master}): ${stage}`),
  }
}
