import { expect, it } from 'vitest'
import { parseCommandLine } from '../../../src/cli/command/parse.ts'
import { requireJobFlags } from '../../../src/cli/serve/job-flags.ts'
import { runCommand } from '../../../src/cli/verbs/run.ts'

function check(name: string, ...words: readonly string[]): void {
  const { flags } = parseCommandLine(runCommand, [name, ...words])
  requireJobFlags(name, runCommand.options, flags)
}

it.each([
  ['als-serving', ['--option', 'a=b'], '--option is for a job of your own, not for "als-serving"'],
  ['als-serving', ['--memory', '2gb'], '--memory is for "models", a job of your own'],
  ['als-serving', ['--http', '0'], 'put "weir gateway" in front of "als-serving"'],
  ['svm-serving', ['--quarantine', 'q'], '--quarantine is for "histories"'],
  ['svm-serving', ['--repository', 'other'], '--repository is for "models", a job of your own'],
  ['histories', ['--dimension', '5'], '--dimension is for "als-serving", "svm-serving"'],
  ['models', ['--topic', 't'], '--topic is for "als-serving", "svm-serving", "histories"'],
  ['models', ['--restore-from', '1'], 'not for "models"'],
  ['./none.ts', ['--check-types'], 'there is no file "./none.ts"'],
])('weir run %s refuses %j, which it would not read', (name, words, message) => {
  expect(() => check(name, ...words)).toThrow(message)
})

it.each([
  ['als-serving', ['--dimension', '5', '--topic', 't', '--repository', 'models']],
  [
    'models',
    [
      '--repository',
      'other',
      '--memory',
      '2gb',
      '--http',
      '0',
      '--grpc',
      '0',
      '--allow-origin',
      '*',
    ],
  ],
  ['./job.ts', ['--option', 'a=b', '--restore-from', '1', '--memory', '2gb']],
])('weir run %s takes %j', (name, words) => {
  expect(() => check(name, ...words)).not.toThrow()
})
